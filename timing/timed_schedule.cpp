#include "timing/timed_schedule.hpp"

namespace kiln::timing {

TimedSchedule::TimedSchedule(const Chip& chip, const Surroundings& around) : chip_(chip), around_(around) {}
TimedSchedule::~TimedSchedule() = default;

sim::Outcome TimedSchedule::run(sim::Cluster& cluster, const ir::Operation*& current) {
  run_ = std::make_unique<TimedRun>(cluster, chip_, around_);
  const sim::Outcome outcome = run_->go(current);
  times_.push_back(run_->result());
  run_.reset();
  cluster.grid.waiting.clear();
  return outcome;
}

void TimedSchedule::transfer(sim::AsyncId, const sim::Transfer& t) {
  if (run_) run_->transfer(t);
}

void TimedSchedule::access(const sim::Agent&, const ir::Operation&, const sim::Range& range, sim::AccessKind kind,
                           sim::Proxy, sim::AsyncId) {
  if (run_) run_->access(range, kind);
}

void TimedSchedule::multiply(sim::AsyncId, const sim::Agent&, const sim::MmaTask& task) {
  if (run_) run_->multiply(task);
}

void TimedSchedule::sync(const sim::Agent&, const ir::Operation*, const sim::Sync& s) {
  if (run_) run_->sync(s);
}

}  // namespace kiln::timing
