// What the run of a cluster tells: where each role's cycles went, the critical path, and the timeline. It owns all
// three, and changes nothing that the clock goes by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/machine.hpp"
#include "timing/account.hpp"
#include "timing/critical_path.hpp"
#include "timing/warps.hpp"

namespace kiln::timing {

class Record {
 public:
  /// `timeline`: spans are kept.
  Record(const sim::Cluster&, bool timeline);

  /// What a warp waited for until it issued that, now.
  void charge(Track&, const Next&, double now);
  /// It has used slots of its scheduler.
  void issue(const Track&, const Next&, double slots);
  /// It has executed an instruction of barriers, now.
  void arrive(const Track&, const ir::Operation&, double now);
  /// It was blocked by an mbarrier since then, and knows since `answered` that it may go on.
  void wait_for_mbarrier(Track&, const Next&, double since, double now, double answered);
  /// Its instruction may be the last.
  void exit(const Track&, const Next&, double now);
  /// Of the timeline. `cta`: in the cluster.
  void show(std::uint32_t cta, std::string lane, std::string what, double begin, double end);

  const std::string& role(std::uint32_t operation, const sim::Warp& warp) const {
    return roles_.name(operation, warp.index);
  }
  std::vector<RoleTime> roles() const { return roles_.times(); }
  std::vector<PathPart> path() const { return path_.parts(); }
  const std::vector<Span>& spans() const { return spans_; }

 private:
  void show_wait(const Track&, const RoleTime&, std::string_view what, double begin, double end);

  bool timeline_;
  Roles roles_;
  CriticalPath path_;
  std::vector<Span> spans_{};
  std::vector<Release> arrivals_;  // the latest at each CTA's barriers
  Release cluster_arrival_{};      // and at the cluster's
};

}  // namespace kiln::timing
