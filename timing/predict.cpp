#include "timing/predict.hpp"

#include <algorithm>
#include <cmath>

#include "sim/simulate.hpp"
#include "timing/dependence.hpp"
#include "timing/timed_schedule.hpp"

namespace kiln::timing {
namespace {

constexpr double busy_enough = 0.85;  // of the cycles: the resource decides, not latency

struct Times {
  sim::Outcome outcome = sim::Outcome::finished;
  std::vector<ClusterTime> clusters{};
};

Times run_on(const Chip& chip, const ir::Module& module, launch::Contract contract, const Surroundings& around,
             diag::Sink& sink) {
  for (launch::Launch& l : contract.launches) l.ctas_per_sm = 1;
  TimedSchedule schedule(chip, around);
  sim::Options options;
  options.arithmetic = sim::Arithmetic::fast;
  options.detect_races = false;
  options.schedule = &schedule;
  Times t;
  t.outcome = sim::simulate(module, contract, options, sink, &schedule).outcome;
  t.clusters = schedule.times();
  return t;
}

std::uint64_t bytes_of(const launch::Contract& contract) {
  std::uint64_t sum = 0;
  for (const launch::Buffer& b : contract.buffers) sum += b.bytes.size();
  return sum;
}

std::uint64_t waves_of(const ClusterTime& c) {
  return c.takes_clusters ? 1 : (c.clusters + c.resident - 1) / c.resident;
}

double grid_cycles(const Chip& chip, const ClusterTime& c) {
  const auto waves = double(waves_of(c));
  return waves * c.cycles + (waves - 1) * chip[FactId::cta_gap];
}

void find_binding(LaunchTime& l) {
  const auto most = std::max_element(l.cluster.uses.begin(), l.cluster.uses.end(),
                                     [](const Use& x, const Use& y) { return x.busy < y.busy; });
  if (most == l.cluster.uses.end() || l.cluster.cycles == 0) return;
  l.binds_share = most->busy / l.cluster.cycles;
  l.binds = l.binds_share >= busy_enough ? most->name : "latency; busiest: " + most->name;
}

void list_unmodelled(Prediction& p) {
  p.unmodelled = {"bank conflicts and the coalescing of global accesses",
                  "L2's sides, its replacement and lines that CTAs share; queues at HBM",
                  "what ptxas makes of the PTX: order, fused and added instructions, spills",
                  "the clock under load and power", "CTAs that share an SM: each SM is taken to hold one"};
  bool many = false, guessed = false, blocking = false;
  for (const LaunchTime& l : p.launches) {
    many |= l.cluster.clusters > 1;
    guessed |= l.cluster.guessed_mma;
    blocking |= l.cluster.mma_sync > 0;
  }
  if (many) p.unmodelled.push_back("differences between clusters: all are taken to be as the first");
  if (p.launches.size() > 1) p.unmodelled.push_back("launches that overlap");
  if (guessed)
    p.unmodelled.push_back("forms of tcgen05.mma that were not measured: each is taken as the nearest that was");
  if (blocking) p.unmodelled.push_back("mma.sync: its rate");
}

}  // namespace

bool needs_values(const ir::Module& module) {
  for (const ir::Item& item : module.items) {
    const auto* f = std::get_if<ir::Function>(&item);
    diag::Sink ignored;
    if (f && f->body && depends_on_products(ir::decode(module, *f, ignored))) return true;
  }
  return false;
}

Prediction predict(const ir::Module& module, const launch::Contract& contract, const Chip& chip,
                   const Question& question, diag::Sink& sink) {
  Prediction p;
  p.clock = question.clock > 0 ? question.clock : chip[FactId::max_clock];
  p.launch_us = chip[FactId::launch];
  p.values = question.values || needs_values(module);
  const std::uint64_t bytes = bytes_of(contract);
  p.hits_l2 = double(bytes) <= chip[FactId::l2_reach];
  const Surroundings around{p.hits_l2, p.values};
  const Times plain = run_on(chip, module, contract, around, sink);
  p.outcome = plain.outcome;
  if (p.outcome != sim::Outcome::finished) return p;
  diag::Sink again;  // says what has been said
  const Chip slow = bent(chip, true), fast = bent(chip, false);
  const Times most = run_on(slow, module, contract, around, again),
              least = run_on(fast, module, contract, around, again);
  for (std::size_t k = 0; k < plain.clusters.size(); ++k) {
    if (k >= most.clusters.size() || k >= least.clusters.size()) break;
    LaunchTime l;
    l.entry = contract.launches[k].entry;
    l.cluster = plain.clusters[k];
    l.waves = waves_of(l.cluster);
    const auto between = [](double value, double x, double y) {
      return Predicted{value, std::min({value, x, y}), std::max({value, x, y})};
    };
    l.cluster_cycles = between(l.cluster.cycles, least.clusters[k].cycles, most.clusters[k].cycles);
    const auto of_grid = [&](const Chip& c, const ClusterTime& t) {
      const double hbm = p.hits_l2 ? 0 : double(bytes) / (c[FactId::hbm_rate] * 1e9) * p.clock * 1e9;
      return std::max(grid_cycles(c, t), hbm);
    };
    if (!p.hits_l2) l.hbm_cycles = double(bytes) / (chip[FactId::hbm_rate] * 1e9) * p.clock * 1e9;
    l.cycles = between(of_grid(chip, l.cluster), of_grid(fast, least.clusters[k]), of_grid(slow, most.clusters[k]));
    find_binding(l);
    if (l.hbm_cycles >= l.cycles.value) l.binds = "HBM", l.binds_share = 1;
    p.cycles.value += l.cycles.value, p.cycles.least += l.cycles.least, p.cycles.most += l.cycles.most;
    p.launches.push_back(std::move(l));
  }
  const double second = p.clock * 1e9;
  p.seconds = {p.cycles.value / second, p.cycles.least / second, p.cycles.most / second};
  list_unmodelled(p);
  return p;
}

}  // namespace kiln::timing
