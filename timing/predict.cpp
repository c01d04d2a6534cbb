#include "timing/predict.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "sim/simulate.hpp"
#include "timing/dependence.hpp"
#include "timing/timed_schedule.hpp"

namespace kiln::timing {
namespace {

constexpr double reserved_shared = 28 << 10;  // of what L1 and shared memory have: for L1, and 1 KiB of each CTA
constexpr std::uint64_t threads_of_sm = 2048;
constexpr double busy_enough = 0.85;  // of the cycles: the resource decides, not latency

struct Times {
  sim::Outcome outcome = sim::Outcome::finished;
  std::vector<ClusterTime> clusters{};
  std::vector<GridWork> grids{};
};

// Runs of one contract, each from the same buffers. They share a copy of these, because buffers may be large.
class Runs {
 public:
  Runs(const ir::Module& module, const launch::Contract& contract) : module_(module), fresh_(contract) {
    used_ = contract;
    for (launch::Launch& l : used_.launches) l.ctas_per_sm = 1;
  }

  Times on(const Chip& chip, const std::vector<Surroundings>& around, Extent extent, diag::Sink& sink) {
    start_anew();
    TimedSchedule schedule(chip, around, extent, tallies_);
    sim::Options options;
    options.arithmetic = sim::Arithmetic::fast;
    options.detect_races = false;
    options.schedule = &schedule;
    Times t;
    t.outcome = sim::simulate(module_, used_, options, sink, &schedule).outcome;
    t.clusters = schedule.times(), t.grids = schedule.grids();
    return t;
  }

  /// Counts what clusters of the first launch do, if they differ by numbers in memory. Later runs know it.
  void tally(const Chip& chip) {
    start_anew();
    Tally tally(chip);
    sim::Options options;
    options.arithmetic = sim::Arithmetic::fast;
    options.detect_races = false;
    options.schedule = &tally;
    diag::Sink unheard;
    if (sim::simulate(module_, used_, options, unheard, &tally).outcome == sim::Outcome::finished)
      tallies_ = tally.tallies();
  }

  /// Adds what clusters that run at the same time load together, by launch; of those that are `wanted`.
  void survey(const Chip& chip, std::vector<bool> wanted, std::vector<Surroundings>& around) {
    start_anew();
    Survey survey(chip, wanted);
    sim::Options options;
    options.arithmetic = sim::Arithmetic::fast;
    options.detect_races = false;
    options.schedule = &survey;
    diag::Sink unheard;
    sim::simulate(module_, used_, options, unheard, &survey);
    const std::vector<GivenByL2> given = survey.given();
    const std::vector<PartsOutside> outside = survey.outside();
    for (std::size_t k = 0; k < std::min(given.size(), around.size()); ++k)
      if (k < wanted.size() && wanted[k]) around[k].given = given[k], around[k].outside = outside[k];
  }

  /// A buffer as the latest run left it.
  const std::vector<std::uint8_t>& buffer(const std::string& name) const { return used_.at(name).bytes; }

 private:
  void start_anew() {
    if (ran_)
      for (std::size_t k = 0; k < fresh_.buffers.size(); ++k) used_.buffers[k].bytes = fresh_.buffers[k].bytes;
    ran_ = true;
  }

  const ir::Module& module_;
  const launch::Contract& fresh_;
  launch::Contract used_{};
  Tallies tallies_{};
  bool ran_ = false;
};

std::uint64_t bytes_of(const launch::Contract& contract, const std::string& beside) {
  std::uint64_t sum = 0;
  for (const launch::Buffer& b : contract.buffers)
    if (b.name != beside) sum += b.bytes.size();
  return sum;
}

// What each launch finds in L2, if all buffers fit: what it writes itself, what the ones before it have read or
// written, and with `warm` all of them. HBM gives each byte of the others once.
struct Memory {
  std::vector<Surroundings> around{};
  std::vector<double> hbm_bytes{};
};

// All clusters write their parts, one after the other, and the last ones read all of them, column by column. Between
// the write and the read of a place, of the part u in [0, 1] and the column v, lie 1 - u + u v of the bytes that are
// written. The part of the places for which that is at most `held`: L2 keeps what was used last.
double found_again(double held) { return held >= 1 ? 1 : held + (1 - held) * std::log(1 - held); }

Memory memory_of(const Times& t, const Surroundings& base, double all_bytes, const Chip& chip, L2 l2) {
  const bool fits = all_bytes <= chip[FactId::l2_reach];
  std::set<std::string> before;
  Memory m;
  for (const ClusterTime& c : t.clusters) {
    Surroundings around = base;
    if (fits) around.held = before;
    const double clusters = double(c.takes_clusters ? std::min(c.clusters, c.resident) : c.clusters);
    double cold = 0, asked = 0;
    for (const auto& [name, use] : c.written) {
      before.insert(name), around.handed.insert(name);
      if (fits) around.held.insert(name);
      // Clusters that come later may load what the first one does not.
      else if (!c.read.contains(name))
        around.spilled[name] = use.size;
    }
    double spilled = 0, written = 0, filled = 0;
    for (const auto& [name, size] : around.spilled) spilled += size;
    for (auto& [name, part] : around.spilled) {
      const double lost = 1 - found_again(chip[FactId::l2_shared] / spilled);
      filled += part * lost, part = lost;
    }
    for (const auto& [name, use] : c.written) written += std::min(use.size, use.moved * clusters);
    for (const auto& [name, use] : c.read) {
      before.insert(name);
      if ((fits && l2 == L2::warm) || around.held.contains(name)) continue;
      cold += std::min(use.size, use.moved * clusters), asked += use.moved * clusters;
    }
    // L2 is full of what a launch like this one leaves, and loses as many bytes as come in.
    if ((!fits || l2 == L2::cold) && written > 0) around.dirty = written / (written + cold + (c.counts ? filled : 0));
    // Clusters that find nothing to do leave L2 and HBM to the others, if all are there at once.
    if (c.busy_part < 1 && c.clusters <= c.resident)
      around.busy_clusters = std::max<std::uint64_t>(1, std::uint64_t(std::lround(c.busy_part * double(c.clusters))));
    around.hits_l2 = cold == 0 && around.spilled.empty();
    around.from_hbm = asked > 0 ? cold / asked : 0;
    m.around.push_back(around), m.hbm_bytes.push_back(cold);
  }
  if (m.around.empty()) m.around.push_back(base);
  return m;
}

std::vector<Surroundings> with_timeline(std::vector<Surroundings> all, bool timeline) {
  for (Surroundings& s : all) s.timeline = timeline;
  return all;
}

std::uint64_t waves_of(const ClusterTime& c) {
  return c.takes_clusters ? 1 : (c.clusters + c.resident - 1) / c.resident;
}

Predicted between(double value, double x, double y) {
  return {value, std::min({value, x, y}), std::max({value, x, y})};
}

Predicted less(const Predicted& p, double by) { return {p.value - by, p.least - by, p.most - by}; }
void add(Predicted& sum, const Predicted& p) { sum.value += p.value, sum.least += p.least, sum.most += p.most; }

void find_binding(LaunchTime& l) {
  const auto most = std::max_element(l.cluster.uses.begin(), l.cluster.uses.end(),
                                     [](const Use& x, const Use& y) { return x.busy < y.busy; });
  if (most == l.cluster.uses.end() || l.cluster.cycles == 0) return;
  l.binds_share = most->busy / l.cluster.cycles;
  l.binds = l.binds_share >= busy_enough ? most->name : "latency; busiest: " + most->name;
}

// What the whole chip would take, were the work spread evenly and nothing else slow.
void find_roofs(LaunchTime& l, const Chip& chip) {
  const ClusterTime& c = l.cluster;
  l.operations = l.grid.operations;
  l.l2_bytes = l.grid.loaded;
  l.roofs = {{"tensor core", l.grid.tensor * c.ctas / chip[FactId::sms]},
             {"L2 to the SMs", l.l2_bytes / (chip[FactId::ingest_rate_all] * chip[FactId::sms])},
             {"HBM", l.hbm_cycles}};
  std::stable_sort(l.roofs.begin(), l.roofs.end(), [](const Roof& x, const Roof& y) { return x.cycles > y.cycles; });
}

// L2 has a clock of its own: in a cycle of SMs that the tensor core slows it gives more than it was seen to give.
Chip slowed_by_tensor_core(Chip chip, double tensor_use) {
  constexpr double seen_at = 0.95;  // of load_clock
  const double clock = clock_under(chip, tensor_use).value, more = seen_at * chip[FactId::load_clock] / clock;
  using enum FactId;
  for (const FactId id : {ingest_rate, ingest_rate_all, ingest_rate_own, ingest_rate_split, hbm_rate})
    chip.values[std::size_t(id)].value *= std::max(1.0, more);
  // Stores alone leave the tensor core idle. Those of whole lines HBM has to take here, which it did not have to there.
  chip.values[std::size_t(store_lines_all)].value *= chip[load_clock] / clock;
  return chip;
}

// Of the whole chip, if all launches use their tensor cores as their first clusters do.
double tensor_use_of(const Times& t, const Chip& chip) {
  double busy = 0, cycles = 0;
  for (const ClusterTime& c : t.clusters) {
    const double sms = double(std::min(c.clusters, c.resident) * c.ctas) / chip[FactId::sms];
    cycles += c.cycles;
    busy += c.busy("tensor core") * c.busy_part * sms;
  }
  return cycles > 0 ? std::min(1.0, busy / cycles) : 0;
}

// The copy engines are as busy as those of the first cluster are beside its tensor core.
Activity activity_of(const LaunchTime& l) {
  const double tensor = l.cluster.busy("tensor core");
  return {l.grid.cycles, l.tensor_use, tensor > 0 ? l.tensor_use * l.cluster.busy("copy engine") / tensor : 0};
}

// A programmatic dependent launch begins when all CTAs of the one before it have let it, if its CTAs find room: beside
// those on their SMs, or on SMs that have none. Until it waits for the launch before it, both go on.
double hidden(const LaunchTime& before, const LaunchTime& l, const launch::Launch& asked, const Chip& chip) {
  const ClusterTime &a = before.cluster, &b = l.cluster;
  if (!asked.pdl || !a.lets_begin_at) return 0;
  const bool fit_together = double(a.shared_bytes + b.shared_bytes) <= chip[FactId::l1_and_shared] - reserved_shared &&
                            a.threads + b.threads <= threads_of_sm;
  const bool on_others = a.clusters * a.ctas + b.clusters * b.ctas <= std::uint64_t(chip[FactId::sms]);
  if (!fit_together && !on_others) return 0;
  const double begins = before.grid.cycles - (a.cycles - *a.lets_begin_at);  // the last CTAs let it begin
  return std::min(b.waits_at.value_or(l.grid.cycles), std::max(0.0, before.grid.cycles - begins));
}

void list_unmodelled(Prediction& p) {
  p.unmodelled = {"L2's sides, its replacement and lines that CTAs share; queues at HBM beyond an SM's share",
                  "what ptxas makes of the PTX: order, fused and added instructions, spills",
                  "CTAs that share an SM: each SM is taken to hold one"};
  bool inferred = false, mixed = false, guessed = false, blocking = false;
  for (const LaunchTime& l : p.launches) {
    const bool some_ran = !l.cluster.takes_clusters && l.grid.ran < l.cluster.clusters;
    inferred |= some_ran && !l.grid.mixed, mixed |= some_ran && l.grid.mixed;
    guessed |= l.cluster.guessed_mma;
    blocking |= l.cluster.mma_sync > 0;
  }
  if (inferred) p.unmodelled.push_back("clusters that were not run: each lies on a line between two that were");
  if (mixed) p.unmodelled.push_back("clusters that were not run: each takes what parts of others take that do as much");
  if (p.launches.size() > 1)
    p.unmodelled.push_back("launches that overlap, but for what griddepcontrol hides of one's beginning");
  if (guessed)
    p.unmodelled.push_back("forms of tcgen05.mma that were not measured: each is taken as the nearest that was");
  if (blocking) p.unmodelled.push_back("mma.sync: its rate");
}

// Buffers that a parameter may point into.
void name_buffers(const launch::Param& p, const launch::Contract& contract, std::set<std::string>& names) {
  if (const auto* pointer = std::get_if<launch::PointerParam>(&p.value)) {
    names.insert(pointer->buffer);
    if (const auto found = contract.multimems.find(pointer->buffer); found != contract.multimems.end())
      names.insert(found->second.begin(), found->second.end());
  }
  if (const auto* fields = std::get_if<launch::StructParam>(&p.value))
    for (const launch::StructField& f : fields->fields) name_buffers(f.value, contract, names);
}

// Of each parameter the first one that points into a buffer of its own, as depends_on_products takes it.
std::vector<std::uint32_t> alike(const launch::Launch& l, const launch::Contract& contract) {
  std::vector<std::set<std::string>> names(l.params.size());
  std::vector<std::uint32_t> first(l.params.size());
  for (std::uint32_t k = 0; k < l.params.size(); ++k) {
    name_buffers(l.params[k], contract, names[k]);
    first[k] = names[k].empty() ? no_pointer : k;
    for (std::uint32_t before = 0; before < k; ++before) {
      const bool share = std::any_of(names[k].begin(), names[k].end(),
                                     [&](const std::string& name) { return names[before].contains(name); });
      if (!share || first[k] == first[before]) continue;
      const std::uint32_t from = std::max(first[k], first[before]), to = std::min(first[k], first[before]);
      for (std::uint32_t p = 0; p <= k; ++p)
        if (first[p] == from) first[p] = to;
    }
  }
  return first;
}

// The cycles of all grids, if the first clusters take what they take in these runs.
double cycles_with(const Prediction& p, const Times& t) {
  double sum = 0;
  for (std::size_t k = 0; k < std::min(p.launches.size(), t.clusters.size()); ++k)
    sum += p.launches[k].grid.cycles * t.clusters[k].cycles / p.launches[k].cluster.cycles;
  return sum;
}

constexpr double matters = 0.0005;  // of the cycles

// Each fact alone at its slow end.
template <class Run>
std::vector<FactEffect> effects(const Prediction& p, const Chip& chip, Run run) {
  double as_it_is = 0;
  for (const LaunchTime& l : p.launches) as_it_is += l.grid.cycles;
  std::vector<FactEffect> out;
  const auto add = [&](FactEffect effect, const Chip& other) {
    effect.cycles = cycles_with(p, run(other)) - as_it_is;
    if (std::abs(effect.cycles) > matters * as_it_is) out.push_back(std::move(effect));
  };
  for (std::size_t k = 0; k < fact_count; ++k) {
    const FactInfo& info = facts[k];
    if (info.kind != FactKind::cycles && info.kind != FactKind::rate) continue;
    if (info.chips != TensorCore::all && info.chips != chip.core) continue;
    const Fact& fact = chip.values[k];
    add({std::string(info.name), fact.value, fact.trust}, bent(chip, FactId(k), true));
  }
  const bool tcgen05 = chip.core == TensorCore::tcgen05;
  const Trust trust = tcgen05 ? chip.mma.front().trust : chip.wgmma.trust;
  add({tcgen05 ? "mma" : "wgmma", 0, trust}, bent_tensor_core(chip, true));
  std::stable_sort(out.begin(), out.end(),
                   [](const FactEffect& x, const FactEffect& y) { return std::abs(x.cycles) > std::abs(y.cycles); });
  return out;
}

}  // namespace

bool needs_values(const ir::Module& module, const launch::Contract& contract) {
  for (const ir::Item& item : module.items) {
    const auto* f = std::get_if<ir::Function>(&item);
    if (!f || !f->body) continue;
    diag::Sink ignored;
    const ir::Code code = ir::decode(module, *f, ignored);
    // A device function is called by any kernel, with any pointers.
    if (!f->entry && depends_on_products(code)) return true;
    for (const launch::Launch& l : contract.launches)
      if (f->entry && f->name.find(l.entry) != std::string::npos && depends_on_products(code, alike(l, contract)))
        return true;
  }
  return false;
}

Prediction predict(const ir::Module& module, const launch::Contract& contract, const Chip& chip,
                   const Question& question, diag::Sink& sink) {
  Prediction p;
  p.by_law = question.clock <= 0;
  p.launch_us = chip[FactId::launch];
  p.values = question.values || needs_values(module, contract);
  p.l2_is_warm = question.l2 == L2::warm;
  Runs runs(module, contract);
  // Clusters that do not run leave nothing in a buffer that is asked for.
  if (question.kept.empty()) runs.tally(chip);
  diag::Sink unheard;  // the run after it says the same
  const Surroundings found{.hits_l2 = true, .values = p.values};
  const Times first = runs.on(chip, {found}, Extent::few, unheard);
  Memory memory = memory_of(first, found, double(bytes_of(contract, question.kept)), chip, question.l2);
  if (chip.core == TensorCore::wgmma) {
    std::vector<bool> copies;
    for (const ClusterTime& c : first.clusters) copies.push_back(c.copies && !c.takes_clusters);
    runs.survey(chip, copies, memory.around);
  }
  const std::vector<Surroundings>& around = memory.around;
  const Chip loaded = chip.core == TensorCore::wgmma ? slowed_by_tensor_core(chip, tensor_use_of(first, chip)) : chip;
  const Times plain =
      runs.on(loaded, with_timeline(around, question.timeline), question.all ? Extent::all : Extent::sample, sink);
  p.outcome = plain.outcome;
  if (!question.kept.empty()) p.kept = runs.buffer(question.kept);
  if (p.outcome != sim::Outcome::finished) return p;
  diag::Sink again;  // says what has been said
  const Chip slow = bent(loaded, true), fast = bent(loaded, false);
  const Times most = runs.on(slow, around, Extent::first, again), least = runs.on(fast, around, Extent::first, again);
  for (std::size_t k = 0; k < plain.clusters.size(); ++k) {
    if (k >= most.clusters.size() || k >= least.clusters.size()) break;
    LaunchTime l;
    l.entry = contract.launches[k].entry;
    l.cluster = plain.clusters[k];
    l.waves = waves_of(l.cluster);
    l.cluster_cycles = between(l.cluster.cycles, least.clusters[k].cycles, most.clusters[k].cycles);
    l.grid = plain.grids[k];
    l.tensor_use = l.grid.tensor * l.cluster.ctas / (l.grid.cycles * chip[FactId::sms]);
    l.clock =
        question.clock > 0 ? Clock{question.clock, question.clock, question.clock} : clock_of(chip, activity_of(l));
    l.hbm_bytes = k < memory.hbm_bytes.size() ? memory.hbm_bytes[k] : 0;
    const auto hbm = [&](const Chip& c) { return l.hbm_bytes / c[FactId::hbm_rate] * l.clock.value; };
    const auto start = [&](const Chip& c) { return question.l2 == L2::cold && k == 0 ? c[FactId::cold_start] : 0; };
    // The others bend as the first one does.
    const auto of_grid = [&](const Chip& c, const ClusterTime& first) {
      return start(c) + std::max(l.grid.cycles * first.cycles / l.cluster.cycles, hbm(c));
    };
    l.start_cycles = start(chip);
    l.hbm_cycles = hbm(chip);
    l.cycles = between(of_grid(chip, l.cluster), of_grid(fast, least.clusters[k]), of_grid(slow, most.clusters[k]));
    l.seconds = {l.cycles.value / l.clock.value * 1e-9, l.cycles.least / l.clock.most * 1e-9,
                 l.cycles.most / l.clock.least * 1e-9};
    find_binding(l);
    find_roofs(l, chip);
    if (l.hbm_cycles > 0 && l.hbm_cycles >= l.cycles.value) l.binds = "HBM", l.binds_share = 1;
    if (l.grid.left_out)
      sink.report({.severity = diag::Severity::incomplete,
                   .message = "what a cluster of " + l.entry + " does depends on numbers that it loads from memory: " +
                              std::to_string(l.grid.ran) + " of " + std::to_string(l.cluster.clusters) +
                              " were run, and the others are taken to be as these are on average"});
    if (k > 0) l.hidden_cycles = hidden(p.launches.back(), l, contract.launches[k], chip);
    const double hidden_seconds = l.hidden_cycles / l.clock.value * 1e-9;
    add(p.cycles, less(l.cycles, l.hidden_cycles)), add(p.seconds, less(l.seconds, hidden_seconds));
    p.launches.push_back(std::move(l));
  }
  p.clock = p.cycles.value / p.seconds.value * 1e-9;
  if (question.facts)
    p.facts = effects(p, chip, [&](const Chip& other) { return runs.on(other, around, Extent::first, again); });
  list_unmodelled(p);
  return p;
}

}  // namespace kiln::timing
