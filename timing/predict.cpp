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

// Of the tensor cores of all SMs, over the grid's time.
double tensor_use(const Chip& chip, const ClusterTime& c, double cycles) {
  const auto core = std::find_if(c.uses.begin(), c.uses.end(), [](const Use& u) { return u.name == "tensor core"; });
  const auto clusters = double(c.takes_clusters ? std::min(c.clusters, c.resident) : c.clusters);
  return core->busy * clusters * c.ctas / (cycles * chip[FactId::sms]);
}

Predicted between(double value, double x, double y) {
  return {value, std::min({value, x, y}), std::max({value, x, y})};
}

void add(Predicted& sum, const Predicted& p) { sum.value += p.value, sum.least += p.least, sum.most += p.most; }

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
                  "CTAs that share an SM: each SM is taken to hold one"};
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
  p.by_law = question.clock <= 0;
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
    l.cluster_cycles = between(l.cluster.cycles, least.clusters[k].cycles, most.clusters[k].cycles);
    l.tensor_use = tensor_use(chip, l.cluster, grid_cycles(chip, l.cluster));
    l.clock =
        question.clock > 0 ? Clock{question.clock, question.clock, question.clock} : clock_under(chip, l.tensor_use);
    const auto hbm = [&](const Chip& c) { return p.hits_l2 ? 0 : double(bytes) / c[FactId::hbm_rate] * l.clock.value; };
    const auto of_grid = [&](const Chip& c, const ClusterTime& t) { return std::max(grid_cycles(c, t), hbm(c)); };
    l.hbm_cycles = hbm(chip);
    l.cycles = between(of_grid(chip, l.cluster), of_grid(fast, least.clusters[k]), of_grid(slow, most.clusters[k]));
    l.seconds = {l.cycles.value / l.clock.value * 1e-9, l.cycles.least / l.clock.most * 1e-9,
                 l.cycles.most / l.clock.least * 1e-9};
    find_binding(l);
    if (l.hbm_cycles >= l.cycles.value) l.binds = "HBM", l.binds_share = 1;
    add(p.cycles, l.cycles), add(p.seconds, l.seconds);
    p.launches.push_back(std::move(l));
  }
  p.clock = p.cycles.value / p.seconds.value * 1e-9;
  list_unmodelled(p);
  return p;
}

}  // namespace kiln::timing
