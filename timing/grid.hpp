// A whole grid from a few of its clusters. Clusters differ by where they stand: a tile at the edge, a row of a causal
// mask, the length of a persistent list. So some are run, along each axis of the grid; those between two of them lie on
// the line between these, and a dispatcher gives all of them to the chip.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "launch/contract.hpp"
#include "timing/mixes.hpp"

namespace kiln::timing {

/// Clusters of a grid that are run, and what they say of the others.
class Sample {
 public:
  /// `clusters`: the grid's extents. `all`: every cluster is run, and nothing is inferred.
  Sample(launch::Dim3 clusters, bool all);

  /// The number of a cluster that is to be run next; the first is 0. Nothing: enough have been.
  std::optional<std::uint32_t> next() const;
  void add(std::uint32_t cluster, const Work&);
  /// Of the axis whose clusters start last all run, in their order, if they are few: what one does hangs on those
  /// before. Where they are more, and the axis is not the grid's first, clusters are left out.
  void take_all_of_last_axis();
  /// What a cluster does depends on numbers in memory: all places on these axes run, others at 0. If they are more than
  /// `most`, that many do, spread over all of them, and the others are taken to be as these are on average.
  void take_all_of(const std::array<bool, 3>& axes, std::size_t most);
  /// The same where it is known what each of these places does: some of them run, others are mixes of these. At most
  /// `most` run but for those that show whether mixes hold (`checked`). The tallies must outlive the sample.
  void mix(const std::array<bool, 3>& axes, const Tallies&, std::size_t most, bool checked);
  const std::optional<Mixes>& mixes() const { return mixes_; }
  /// Clusters were left out that may be like none that was run.
  bool left_out() const { return left_out_; }
  /// Clusters to run again where the last wave is to be known, in their order: those of that axis, else the first.
  std::vector<std::uint32_t> of_last_wave() const;
  /// Of any cluster.
  Work of(std::uint32_t cluster) const;
  std::size_t size() const { return ran_.size(); }

 private:
  using Line = std::map<std::uint32_t, Work>;  // by the place on an axis, the others at 0

  std::uint32_t number(int axis, std::uint32_t at) const;
  int last_axis() const { return extents_[2] > 1 ? 2 : extents_[1] > 1 ? 1 : 0; }
  std::optional<std::uint32_t> missing(int axis) const;
  Work mean() const;

  std::array<std::uint32_t, 3> extents_;
  bool all_, in_order_ = false, left_out_ = false;
  std::array<bool, 3> together_{};       // axes of which all places run
  std::vector<std::uint32_t> to_run_{};  // these places, by number
  std::optional<Mixes> mixes_{};         // or a mix of some of them
  std::map<std::uint32_t, Work> ran_{};  // by number
  std::array<Line, 3> lines_{};          // of them, those on an axis
};

/// A grid on the chip.
struct GridWork {
  double cycles = 0;        // from the first cluster's start to the last one's end
  double tensor = 0;        // that one tensor core of each cluster is busy, all clusters added
  double busy = 0;          // cycles of all clusters added
  double operations = 0;    // of the tensor cores
  double loaded = 0;        // bytes that all clusters ask of L2
  double adds = 0;          // of these, what a cluster takes longer that comes last of those that count, if none ran
  bool left_out = false;    // clusters that may be like none that was run
  bool mixed = false;       // clusters that were not run are mixes of those that were
  std::uint64_t ran = 0;    // clusters that were run
  std::uint64_t kinds = 1;  // of clusters: those whose time differs by a hundredth or more
};

/// The dispatcher: `resident` clusters at once in the order of their numbers, each as soon as one has ended, and `gap`
/// cycles later. Clusters of the last wave take `tail` of their time, because fewer share L2 then.
GridWork dispatch(const Sample&, std::uint64_t clusters, std::uint64_t resident, double gap, double tail);

}  // namespace kiln::timing
