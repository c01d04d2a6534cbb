#include "timing/timed_schedule.hpp"

#include <algorithm>

#include "sim/core/start.hpp"

namespace kiln::timing {

namespace {

constexpr double feels_others = 0.3;  // use of what SMs share, from which on it matters how many there are

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
  if (!tail_runs_.empty()) {
    tail_runs_.pop_front();
    if (!tail_runs_.empty()) return tail_runs_.front();
    tail_ = std::min(1.0, time.cycles / sample_->of(cluster.index).cycles);
    return std::nullopt;
  }
  sample_->add(cluster.index, {time.cycles, busy(time, "tensor core")});
  if (first.counts) sample_->take_all_of_last_axis();
  if (first.takes_clusters || extent_ == Extent::first) return std::nullopt;
  if (const auto next = sample_->next()) return next;
  const auto is_felt = [&](std::string_view name) { return busy(first, name) > feels_others * first.cycles; };
  if (last_wave(first) == 0 || !(is_felt("L2 to the SM") || is_felt("stores to L2") || is_felt("HBM")))
    return std::nullopt;
  for (const std::uint32_t k : sample_->of_last_wave()) tail_runs_.push_back(k);
  return tail_runs_.front();
}

sim::Outcome TimedSchedule::run(sim::Cluster& cluster, const ir::Operation*& current) {
  if (launch_ != cluster.grid.number) {
    launch_ = cluster.grid.number;
    sample_.emplace(sim::clusters_of(cluster.grid), extent_ == Extent::all);
    tail_ = 1, tail_runs_.clear();
  }
  Surroundings around = around_[std::min<std::size_t>(cluster.grid.number, around_.size() - 1)];
  if (!tail_runs_.empty()) around.busy_clusters = last_wave(times_.back());
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
  grids_.back().cycles += first.drain;  // of the clusters before them the drain is hidden by those after
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
