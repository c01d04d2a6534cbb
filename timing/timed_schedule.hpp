// The timed schedule: what happens next is what a chip would do next. It takes the place of the seeded schedules, so a
// run computes the same and is judged the same; time alone comes from a chip's resources instead of a seed.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/schedule/schedule.hpp"
#include "timing/dependence.hpp"
#include "timing/grid.hpp"
#include "timing/tally.hpp"
#include "timing/timed_run.hpp"

namespace kiln::timing {

/// Which clusters of a launch run: the first; that, or some of all places if these differ by numbers in memory; as many
/// as tell what the others take; or all.
enum class Extent : std::uint8_t { first, few, sample, all };

/// Runs clusters of each launch, one at a time; the others are left out. Give it to a run as its schedule and as its
/// observer.
class TimedSchedule final : public sim::schedule::Schedule, public sim::Observer {
 public:
  explicit TimedSchedule(const Chip&, const Surroundings&, Extent = Extent::first);
  /// The same with surroundings for each launch; there is one at least, and the last one holds for all after it.
  /// `tallies`: what clusters of the first launch do, if that is known; they must outlive the schedule.
  TimedSchedule(const Chip&, std::vector<Surroundings>, Extent, const Tallies& tallies = none);
  ~TimedSchedule() override;

  sim::Outcome run(sim::Cluster&, const ir::Operation*& current) override;

  void transfer(sim::AsyncId, const sim::Transfer&) override;
  void access(const sim::Agent&, const ir::Operation&, const sim::Range&, sim::AccessKind, sim::Proxy,
              sim::AsyncId) override;
  void multiply(sim::AsyncId, const sim::Agent&, const sim::MmaTask&) override;
  void sync(const sim::Agent&, const ir::Operation*, const sim::Sync&) override;

  /// The first cluster of each launch that ran. Where clusters differ by numbers in memory, what it reads and writes is
  /// that of all that ran, on average.
  const std::vector<ClusterTime>& times() const { return times_; }
  /// The grids of these launches, as far as the extent has them.
  const std::vector<GridWork>& grids() const { return grids_; }

 private:
  sim::Outcome run_one(sim::Cluster&, const Surroundings&, const ir::Operation*& current, ClusterTime&);
  std::optional<std::uint32_t> next_cluster(const sim::Cluster&, const ClusterTime&);

  static const Tallies none;

  void take_places();
  bool nobody_came_last() const;
  void take_last(const ClusterTime&);
  std::optional<std::uint32_t> first_of_tail();
  void take_mean();

  const Chip& chip_;
  std::vector<Surroundings> around_;  // by launch
  Extent extent_;
  const Tallies& tallies_;
  std::unique_ptr<TimedRun> run_{};  // the cluster that runs
  std::vector<ClusterTime> times_{};
  std::vector<GridWork> grids_{};
  std::optional<std::uint32_t> launch_{};  // that runs
  std::optional<Sample> sample_{};         // of it
  PlaceDependence places_{};
  // Clusters of it that ran, by number, if they differ by numbers in memory.
  std::map<std::uint32_t, ClusterTime> like_{};
  // Of those that ran, the one that takes longest; it runs again as one that comes last where clusters count.
  std::uint32_t longest_ = 0;
  ClusterTime longest_time_{};
  bool came_last_ = false;                 // one of those that ran
  bool comes_last_ = false;                // the one that runs
  double adds_ = 0;                        // cycles that this takes longer
  double tail_ = 1;                        // its dispatcher's
  std::deque<std::uint32_t> tail_runs_{};  // clusters that show what the last wave takes, still to run
};

}  // namespace kiln::timing
