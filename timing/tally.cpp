#include "timing/tally.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <set>

#include "ptx/isa/access_bytes.hpp"
#include "ptx/isa/tmem.hpp"
#include "sim/async/tma.hpp"
#include "sim/core/start.hpp"
#include "sim/schedule/scheduler.hpp"
#include "sim/tensor/task.hpp"

namespace kiln::timing {
namespace {

using enum FactId;

constexpr int longest_turn = 1024;                 // instructions of a warp, one after the other
constexpr std::uint64_t most_steps = 100'000'000;  // of a cluster: it does not end
constexpr double fills = 2;                        // latencies of a load that a cluster has whatever it does
constexpr double warp_schedulers = 4;

bool is_mma(Does does) { return does == Does::mma || does == Does::wgmma || does == Does::mma_sync; }

}  // namespace

ChosenPlaces places_on(const std::array<std::uint32_t, 3>& extents, const std::array<bool, 3>& axes, std::size_t most) {
  std::array<std::uint32_t, 3> of_axis{1, 1, 1};
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (axes[axis]) of_axis[axis] = extents[axis];
  const std::uint64_t all = std::uint64_t(of_axis[0]) * of_axis[1] * of_axis[2];
  ChosenPlaces out{.left_out = all > most};
  std::set<std::uint64_t> chosen;
  for (std::uint64_t k = 0; chosen.size() < std::min<std::uint64_t>(all, most); ++k) {
    const double part = double(k) * std::numbers::phi;
    chosen.insert(out.left_out ? std::uint64_t((part - std::floor(part)) * double(all)) : k);
  }
  for (const std::uint64_t k : chosen)
    out.numbers.push_back(std::uint32_t(k % of_axis[0]) + std::uint32_t(k / of_axis[0] % of_axis[1]) * extents[0] +
                          std::uint32_t(k / of_axis[0] / of_axis[1]) * extents[0] * extents[1]);
  return out;
}

// The launch's first cluster has started. False: there is nothing to count.
bool Tally::begin(sim::Cluster& cluster) {
  const sim::Program& program = cluster.grid.program;
  const PlaceDependence where = depends_on_place(*program.code);
  if (!where.by_memory) return false;
  const launch::Dim3 clusters = sim::clusters_of(cluster.grid);
  ChosenPlaces places = places_on({clusters.x, clusters.y, clusters.z}, where.axes, most_places);
  tallies_.places = std::move(places.numbers), tallies_.left_out = places.left_out;
  skipped_ = decides_nothing(*program.code);
  const Costs costs(program, chip_, std::uint32_t(cluster.grid.launch.block.volume()));
  for (std::size_t k = 0; k < program.code->operations.size(); ++k) {
    const ir::Operation& op = program.code->operations[k];
    double cycles = costs[k].slots / warp_schedulers;
    if (costs[k].does == Does::wgmma)
      cycles += wgmma_interval(chip_, program.mmas[program.insts[k].target].shape.n) / warp_schedulers;
    if (costs[k].does == Does::load_global || costs[k].does == Does::store_global)
      cycles += isa::access_bytes(op.modifiers);  // a sector a cycle for all lanes
    takes_.push_back(cycles), is_mma_.push_back(is_mma(costs[k].does));
    asks_ |= op.opcode == isa::Opcode::clusterlaunchcontrol_try_cancel;
  }
  return true;
}

// The part of a warp's instruction that is executed: all of it without a guard, else as many lanes as the guard says.
double Tally::part_of(const sim::Warp& warp, const sim::Fragment& f) const {
  const sim::Inst& inst = cluster_->grid.program.insts[f.pc];
  sim::Mask guard;
  std::memcpy(&guard, warp.registers + inst.guard, sizeof guard);
  const sim::Mask lanes = f.lanes & (guard ^ inst.guard_flip);
  return lanes == f.lanes ? 1 : double(sim::count(lanes)) / sim::warp_lanes;
}

// A warp goes on until it waits. True if it has done anything.
bool Tally::go_on(sim::Cluster& cluster, sim::Cta& cta, sim::Warp& warp, const ir::Operation*& current) {
  bool moved = false;
  sim::Turn one;
  one.budget = 1, one.attempts = true;
  for (int k = 0; k < longest_turn && warp.runnable(); ++k) {
    const int at = warp.lowest();
    sim::Fragment& f = warp.fragments[std::size_t(at)];
    const std::uint32_t place = f.pc;
    const double part = part_of(warp, f);
    if (place < takes_.size() && skipped_[place]) {
      ++f.pc;
      if (warp.fragment_count > 1) warp.tidy(at);
    } else {
      const std::uint64_t steps = cta.steps;
      issued_ = 0;
      sim::run_warp(cluster, cta, warp, one, current);
      if (cta.steps == steps) continue;  // it waits
      auto& waiting = cta.tensor.waiting;
      for (std::size_t n = 0; n < issued_; ++n) waiting[waiting.size() - 1 - n].action = [] {};  // no products
      sim::after_turn(cta, warp);
    }
    if (place < takes_.size()) counted_[place] += part;
    moved = true;
  }
  return moved;
}

bool Tally::go(sim::Cluster& cluster, const ir::Operation*& current) {
  sim::Patience patience;
  while (!sim::finished(cluster)) {
    bool moved = false;
    std::uint64_t steps = 0;
    for (sim::Cta& cta : cluster.ctas) {
      cta_ = &cta;
      for (sim::Warp& warp : cta.warps) moved |= warp.runnable() && go_on(cluster, cta, warp, current);
      steps += cta.steps;
    }
    for (; !cluster.events.empty(); moved = true) sim::run_event(cluster, cluster.events.take(), current);
    if (steps > most_steps || (!moved && !patience.none_runs(cluster))) return false;
    if (sim::only_polls(cluster) && !patience.all_poll(cluster)) return false;
  }
  return true;
}

void Tally::keep() {
  std::vector<double>& row = tallies_.rows.emplace_back();
  bool multiplies = multiplied_ > 0;
  for (std::size_t k = 0; k < takes_.size(); ++k) {
    row.push_back(counted_[k] * takes_[k]);
    multiplies |= counted_[k] > 0 && is_mma_[k];
  }
  row.push_back(fills * chip_[load_latency_hbm]);
  row.push_back(multiplied_);
  const std::size_t before_buffers = row.size();
  for (const auto& [name, cycles] : moved_) {
    const std::size_t column = before_buffers + columns_.insert({name, columns_.size()}).first->second;
    row.resize(std::max(row.size(), column + 1));
    row[column] = cycles;
  }
  tallies_.multiplies.push_back(multiplies);
}

sim::Outcome Tally::run(sim::Cluster& cluster, const ir::Operation*& current) {
  cluster_ = &cluster;
  cluster.grid.waiting.clear();
  if (cluster.grid.number > 0) return sim::Outcome::finished;
  if (tallies_.rows.empty() && !begin(cluster)) return sim::Outcome::finished;
  counted_.assign(takes_.size(), 0), moved_.clear(), multiplied_ = 0;
  if (asks_ || !go(cluster, current)) {
    tallies_ = {};
    return sim::Outcome::finished;
  }
  keep();
  const std::size_t done = tallies_.rows.size();
  if (done < tallies_.places.size()) {
    cluster.grid.waiting.push_back(tallies_.places[done]);
    return sim::Outcome::finished;
  }
  std::size_t columns = 0;
  for (const auto& row : tallies_.rows) columns = std::max(columns, row.size());
  for (auto& row : tallies_.rows) row.resize(columns);
  return sim::Outcome::finished;
}

void Tally::transfer(sim::AsyncId, const sim::Transfer& t) {
  double bytes = double(t.bytes);
  if (t.box) {
    bytes = 0;
    for (const auto& [address, length] : sim::global_rows(*t.box)) bytes += double(length);
  }
  const sim::Region* const region = t.global ? cluster_->grid.memory.region(t.global) : nullptr;
  moved_[region ? region->name : std::string()] += bytes / chip_[t.signals ? ingest_rate : store_rate];
}

void Tally::multiply(sim::AsyncId, const sim::Agent&, const sim::MmaTask& task) {
  ++issued_;
  multiplied_ +=
      mma_time(chip_, task.form.kind, task.form.a_in_tmem, task.members(), task.shape.m, task.shape.n).interval;
}

void Tally::sync(const sim::Agent&, const ir::Operation*, const sim::Sync& s) {
  if (s.kind != sim::SyncKind::tmem_alloc) return;
  for (sim::Cta& cta : cta_->cluster->ctas)
    if (cta.index == s.cta)
      for (int lane = 0; lane < isa::tmem_lanes; ++lane)
        cta.tmem.mark(lane, int(s.object), int(s.value), sim::TensorMemory::known);
}

}  // namespace kiln::timing
