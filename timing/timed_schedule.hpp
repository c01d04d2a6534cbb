// The timed schedule: what happens next is what a chip would do next. It takes the place of the seeded schedules, so a
// run computes the same and is judged the same; time alone comes from a chip's resources instead of a seed.
#pragma once

#include <memory>
#include <vector>

#include "sim/schedule/schedule.hpp"
#include "timing/timed_run.hpp"

namespace kiln::timing {

/// Runs the first cluster of each launch; the others are left out. Give it to a run as its schedule and as its
/// observer.
class TimedSchedule final : public sim::schedule::Schedule, public sim::Observer {
 public:
  TimedSchedule(const Chip&, const Surroundings&);
  ~TimedSchedule() override;

  sim::Outcome run(sim::Cluster&, const ir::Operation*& current) override;

  void transfer(sim::AsyncId, const sim::Transfer&) override;
  void access(const sim::Agent&, const ir::Operation&, const sim::Range&, sim::AccessKind, sim::Proxy,
              sim::AsyncId) override;
  void multiply(sim::AsyncId, const sim::Agent&, const sim::MmaTask&) override;
  void sync(const sim::Agent&, const ir::Operation*, const sim::Sync&) override;

  /// One for each launch that ran.
  const std::vector<ClusterTime>& times() const { return times_; }

 private:
  const Chip& chip_;
  Surroundings around_;
  std::unique_ptr<TimedRun> run_{};  // the cluster that runs
  std::vector<ClusterTime> times_{};
};

}  // namespace kiln::timing
