#include "timing/timed_schedule.hpp"

#include <algorithm>

#include "sim/core/start.hpp"

namespace kiln::timing {

namespace {

// Clusters that run where numbers in memory make them differ, if all places need not; and to find out what they read.
constexpr std::size_t most_mixed = 32, few_places = 24;
constexpr double feels_others = 0.3;  // use of what SMs share, from which on it matters how many there are

// Clusters of the last wave, if there are fewer than in those before it.
std::uint64_t last_wave(const ClusterTime& c) { return c.clusters > c.resident ? c.clusters % c.resident : 0; }

}  // namespace

const Tallies TimedSchedule::none{};

TimedSchedule::TimedSchedule(const Chip& chip, const Surroundings& around, Extent extent)
    : TimedSchedule(chip, std::vector{around}, extent) {}
TimedSchedule::TimedSchedule(const Chip& chip, std::vector<Surroundings> around, Extent extent, const Tallies& tallies)
    : chip_(chip), around_(std::move(around)), extent_(extent), tallies_(tallies) {}
TimedSchedule::~TimedSchedule() = default;

sim::Outcome TimedSchedule::run_one(sim::Cluster& cluster, const Surroundings& around, const ir::Operation*& current,
                                    ClusterTime& time) {
  run_ = std::make_unique<TimedRun>(cluster, chip_, around);
  const sim::Outcome outcome = run_->go(current);
  time = run_->result();
  run_.reset();
  return outcome;
}

// Clusters differ by numbers in memory: which of them run. What a cluster does that counts hangs on those before it.
void TimedSchedule::take_places() {
  const bool few = extent_ == Extent::few;
  if (launch_ == 0u && !tallies_.empty() && !times_.back().counts)
    sample_->mix(places_.axes, tallies_, most_mixed, !few);
  else
    sample_->take_all_of(places_.axes, few ? few_places : most_places);
}

// What the first one reads and writes becomes what all of them do on average.
void TimedSchedule::take_mean() {
  if (like_.empty()) return;
  ClusterTime& first = times_.back();
  std::map<std::uint32_t, double> parts;
  const std::optional<Mixes>& mixes = sample_->mixes();
  if (mixes)
    parts = mixes->mean();
  else
    for (const auto& [number, time] : like_) parts[number] = 1 / double(like_.size());
  const ClusterTime own = first;
  first.loaded = first.busy_part = 0, first.read.clear(), first.written.clear();
  const auto add = [](BufferUses& to, const BufferUses& uses, double part) {
    for (const auto& [name, use] : uses) to[name].size = use.size, to[name].moved += part * use.moved;
  };
  for (const auto& [number, part] : parts) {
    const ClusterTime& c = like_.at(number);
    first.loaded += part * c.loaded;
    if (c.mmas > 0 || own.mmas == 0) first.busy_part += part;
    add(first.read, c.read, part), add(first.written, c.written, part);
  }
  if (mixes && own.mmas > 0) first.busy_part = mixes->multiplying();
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
  if (comes_last_) {
    take_last(time);
    return first_of_tail();
  }
  sample_->add(cluster.index, {time.cycles, time.busy("tensor core"), time.operations, time.loaded});
  came_last_ |= time.came_last;
  if (time.cycles > longest_time_.cycles) longest_ = cluster.index, longest_time_ = time;
  if (first.counts) sample_->take_all_of_last_axis();
  const bool may_differ = places_.by_memory && extent_ != Extent::all;
  if (may_differ) like_[cluster.index] = time;
  if (first.takes_clusters || extent_ == Extent::first || (extent_ == Extent::few && !may_differ)) return std::nullopt;
  if (may_differ) take_places();
  if (const auto next = sample_->next()) return next;
  if (nobody_came_last()) {
    comes_last_ = true;
    return longest_;
  }
  return first_of_tail();
}

// Clusters count, and of those that ran none was the last one, which adds up what the others left.
bool TimedSchedule::nobody_came_last() const {
  const ClusterTime& c = longest_time_;
  return extent_ == Extent::sample && !came_last_ &&
         std::any_of(c.counted.begin(), c.counted.end(), [](std::uint32_t times) { return times > 0; });
}

// The cluster that takes longest has come last in its last tile. Of the tiles before it, it does so in as many as each.
void TimedSchedule::take_last(const ClusterTime& time) {
  comes_last_ = false, came_last_ = true;
  const std::uint32_t tiles = *std::max_element(longest_time_.counted.begin(), longest_time_.counted.end());
  const double parts = longest_time_.counters_of;
  adds_ = std::max(0.0, time.cycles - longest_time_.cycles) * (1 + (tiles - 1) / parts);
}

// The last wave is to be run again, if what its clusters share is used so much that it matters how many there are.
std::optional<std::uint32_t> TimedSchedule::first_of_tail() {
  const ClusterTime& first = times_.back();
  const auto is_felt = [&](std::string_view name) { return first.busy(name) > feels_others * first.cycles; };
  if (last_wave(first) == 0 || !(is_felt("L2 to the SM") || is_felt("stores to L2") || is_felt("HBM")))
    return std::nullopt;
  for (const std::uint32_t k : sample_->of_last_wave()) tail_runs_.push_back(k);
  return tail_runs_.front();
}

sim::Outcome TimedSchedule::run(sim::Cluster& cluster, const ir::Operation*& current) {
  if (launch_ != cluster.grid.number) {
    launch_ = cluster.grid.number;
    sample_.emplace(sim::clusters_of(cluster.grid), extent_ == Extent::all);
    tail_ = 1, tail_runs_.clear(), like_.clear();
    longest_time_ = {}, came_last_ = comes_last_ = false, adds_ = 0;
    places_ = depends_on_place(*cluster.grid.program.code);
  }
  Surroundings around = around_[std::min<std::size_t>(cluster.grid.number, around_.size() - 1)];
  if (!tail_runs_.empty()) around.busy_clusters = last_wave(times_.back());
  if (comes_last_)
    for (const std::uint32_t times : longest_time_.counted)
      around.counts_before_last.push_back(times > 0 ? times - 1 : 0);
  ClusterTime time;
  const sim::Outcome outcome = run_one(cluster, around, current, time);
  if (sample_->size() == 0) times_.push_back(time), grids_.emplace_back();
  cluster.grid.waiting.clear();
  if (outcome != sim::Outcome::finished) return outcome;
  if (const auto next = next_cluster(cluster, time)) {
    cluster.grid.waiting.push_back(*next);
    return outcome;
  }
  take_mean();
  const ClusterTime& first = times_.back();
  const std::uint64_t clusters = first.takes_clusters ? std::min(first.clusters, first.resident) : first.clusters;
  grids_.back() = dispatch(*sample_, clusters, first.resident, chip_[FactId::cta_gap], tail_);
  grids_.back().adds = adds_;
  grids_.back().cycles += adds_ + first.drain;  // of the clusters before them the drain is hidden by those after
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
