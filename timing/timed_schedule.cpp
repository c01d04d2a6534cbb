#include "timing/timed_schedule.hpp"

#include <algorithm>

#include "sim/core/start.hpp"

namespace kiln::timing {

namespace {

constexpr double feels_others = 0.5;  // use of what L2 gives an SM, from which on it matters how many share L2

double busy(const ClusterTime& c, std::string_view name) {
  const auto use = std::find_if(c.uses.begin(), c.uses.end(), [&](const Use& u) { return u.name == name; });
  return use == c.uses.end() ? 0 : use->busy;
}

// Clusters of the last wave, if there are fewer than in those before it.
std::uint64_t last_wave(const ClusterTime& c) { return c.clusters > c.resident ? c.clusters % c.resident : 0; }

}  // namespace

TimedSchedule::TimedSchedule(const Chip& chip, const Surroundings& around, Extent extent)
    : chip_(chip), around_{around}, extent_(extent) {}
TimedSchedule::TimedSchedule(const Chip& chip, std::vector<Surroundings> around, Extent extent)
    : chip_(chip), around_(std::move(around)), extent_(extent) {}
TimedSchedule::~TimedSchedule() = default;

sim::Outcome TimedSchedule::run_one(sim::Cluster& cluster, const Surroundings& around, const ir::Operation*& current,
                                    ClusterTime& time) {
  run_ = std::make_unique<TimedRun>(cluster, chip_, around);
  const sim::Outcome outcome = run_->go(current);
  time = run_->result();
  run_.reset();
  return outcome;
}

// Which cluster runs after this one.
std::optional<std::uint32_t> TimedSchedule::next_cluster(const sim::Cluster& cluster, const ClusterTime& time) {
  const ClusterTime& first = times_.back();
  if (runs_tail_) {
    tail_ = std::min(1.0, time.cycles / first.cycles), runs_tail_ = false;
    return std::nullopt;
  }
  sample_->add(cluster.index, {time.cycles, busy(time, "tensor core")});
  if (first.takes_clusters || extent_ == Extent::first) return std::nullopt;
  if (const auto next = sample_->next()) return next;
  runs_tail_ = last_wave(first) > 0 && busy(first, "L2 to the SM") > feels_others * first.cycles;
  return runs_tail_ ? std::optional(0u) : std::nullopt;
}

sim::Outcome TimedSchedule::run(sim::Cluster& cluster, const ir::Operation*& current) {
  if (launch_ != cluster.grid.number) {
    launch_ = cluster.grid.number;
    sample_.emplace(sim::clusters_of(cluster.grid), extent_ == Extent::all);
    tail_ = 1, runs_tail_ = false;
  }
  Surroundings around = around_[std::min<std::size_t>(cluster.grid.number, around_.size() - 1)];
  if (runs_tail_) around.busy_clusters = last_wave(times_.back());
  ClusterTime time;
  const sim::Outcome outcome = run_one(cluster, around, current, time);
  if (sample_->size() == 0) times_.push_back(time), grids_.emplace_back();
  cluster.grid.waiting.clear();
  if (outcome != sim::Outcome::finished) return outcome;
  if (const auto next = next_cluster(cluster, time)) {
    cluster.grid.waiting.push_back(*next);
    return outcome;
  }
  const ClusterTime& first = times_.back();
  const std::uint64_t clusters = first.takes_clusters ? std::min(first.clusters, first.resident) : first.clusters;
  grids_.back() = dispatch(*sample_, clusters, first.resident, chip_[FactId::cta_gap], tail_);
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
