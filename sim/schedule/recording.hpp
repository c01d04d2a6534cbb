// What a schedule decided, to repeat a run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kiln::sim::schedule {

/// One decision. Lengths count attempts: instructions executed and instructions that had to wait.
struct Decision {
  enum class Kind : std::uint8_t {
    warp,          // a warp runs, the fragment with the lowest place
    fragment,      // a warp runs the fragment that holds `lane` while that can go on
    lane,          // the fragment that holds `lane` runs
    event,         // the asynchronous operation `name` completes or takes its next step
    warp_highest,  // a warp runs, the fragment with the highest place
    peeks,         // peeks at mbarriers answer false
    timeout        // every wait on an mbarrier times out
  };
  Kind kind = Kind::warp;
  std::uint32_t cta = 0;  // rank in the cluster
  std::uint32_t warp = 0;
  std::uint32_t lane = 0;
  std::uint64_t count = 0;  // attempts
  std::uint64_t name = 0;   // of an event
  std::uint64_t time = 0;   // the cluster's clock when the event happens

  bool operator==(const Decision&) const = default;
};

/// The length of a turn that ended the run.
inline constexpr std::uint64_t to_the_end = ~std::uint32_t{0};

/// The decisions of one cluster, in order.
struct ClusterDecisions {
  std::uint32_t launch = 0, cluster = 0;
  std::vector<Decision> decisions{};
  bool operator==(const ClusterDecisions&) const = default;
};

/// The decisions of a run: clusters in the order in which they run.
struct Recording {
  std::vector<ClusterDecisions> clusters{};

  /// Adds to the cluster that runs; turns of one fragment that follow each other become one.
  void add(const Decision& d) {
    auto& all = clusters.back().decisions;
    if (d.kind == Decision::Kind::lane && !all.empty() && all.back().kind == d.kind && all.back().cta == d.cta &&
        all.back().warp == d.warp && all.back().lane == d.lane)
      all.back().count = std::min(all.back().count + d.count, to_the_end);
    else
      all.push_back(d);
  }
  bool operator==(const Recording&) const = default;
};

}  // namespace kiln::sim::schedule
