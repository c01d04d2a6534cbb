#include "harness/schedules/schedules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "harness/host/process.hpp"
#include "harness/problem/fill.hpp"
#include "ptx/diag/refuse.hpp"
#include "sim/schedule/sync_trace.hpp"

namespace kiln::harness {
namespace {

using sim::Strategy;

bool same_finding(const diag::Diagnostic& a, const diag::Diagnostic& b) {
  return a.slug == b.slug && a.severity == b.severity && a.where.place.begin == b.where.place.begin &&
         a.where.place.end == b.where.place.end && a.where.line == b.where.line && a.where.file == b.where.file &&
         (!a.slug.empty() || a.message == b.message);
}

std::string comparison_words(const Comparison& c) {
  return fmt::format("{}: {} of {} elements are wrong", c.expectation.output, c.wrong, c.elements);
}

// The report of one run as one of many.
SchedulesReport one_of_many(const SchedulesPlan& plan, const RunReport& run, std::uint64_t seed, std::uint64_t trace) {
  SchedulesReport r;
  r.name = plan.name;
  r.strategy = sim::spelling(plan.options.simulation.strategy);
  if (plan.options.simulation.strategy != Strategy::exhaustive) r.seeds = {seed};
  r.runs = 1;
  r.outcomes[std::string(sim::spelling(run.simulation->outcome))] = 1;
  r.traces = {trace};
  for (const diag::Diagnostic& d : run.findings.all()) r.merge_finding({d, seed, 1});
  for (FoundIn& f : r.findings) f.count = 1;  // a run that finds one twice, against two accesses, is one run
  for (const Comparison& c : run.comparisons)
    if (!c.pass && !r.wrong.contains(seed)) r.wrong[seed] = comparison_words(c);
  const int code = run.exit_code();
  r.incomplete = code == 3;
  if (code == 1) r.first_bad = seed;
  return r;
}

SchedulesReport run_seed(const ir::Module& module, const launch::Contract& contract, const SchedulesPlan& plan,
                         std::uint64_t seed) {
  sim::schedule::SyncTrace trace;
  const RunReport run = run_schedule(module, contract, plan, seed, nullptr, &trace);
  return one_of_many(plan, run, seed, trace.hash());
}

SchedulesReport explore(const ir::Module& module, const launch::Contract& contract, const SchedulesPlan& plan) {
  SchedulesReport all;
  std::uint64_t number = 0;
  const auto run = [&](sim::schedule::Schedule& schedule, sim::Observer& observer) {
    const RunReport report = run_schedule(module, contract, plan, plan.first_seed, nullptr, &observer, &schedule);
    const auto& trace = static_cast<sim::schedule::SyncTrace&>(observer);
    SchedulesReport one = one_of_many(plan, report, ++number, trace.hash());
    all.name = one.name, all.strategy = one.strategy;
    all.merge(std::move(one));
    plan.on_progress(number);
    return true;
  };
  all.exploration = sim::schedule::explore(plan.count, run);
  all.incomplete |= !all.exploration->complete;
  return all;
}

}  // namespace

int SchedulesReport::exit_code() const {
  if (first_bad) return 1;
  return incomplete ? 3 : 0;
}

void SchedulesReport::merge_finding(FoundIn f) {
  for (FoundIn& mine : findings) {
    if (!same_finding(mine.finding, f.finding)) continue;
    mine.count += f.count;
    if (f.first < mine.first) mine.first = f.first, mine.finding = std::move(f.finding);
    return;
  }
  findings.push_back(std::move(f));
}

void SchedulesReport::merge(SchedulesReport other) {
  if (name.empty() && strategy.empty()) name = other.name, strategy = other.strategy;
  if (other.name != name || other.strategy != strategy)
    diag::refuse("results of different runs: {} ({}) and {} ({})", name, strategy, other.name, other.strategy);
  for (const std::uint64_t seed : other.seeds)
    if (!seeds.insert(seed).second) diag::refuse("seed {} is in more than one result", seed);
  runs += other.runs;
  for (const auto& [outcome, n] : other.outcomes) outcomes[outcome] += n;
  wrong.merge(other.wrong);
  traces.merge(other.traces);
  for (FoundIn& f : other.findings) merge_finding(std::move(f));
  std::stable_sort(findings.begin(), findings.end(), [](const FoundIn& a, const FoundIn& b) {
    return std::tuple(a.first, a.finding.where.place.begin, a.finding.slug) <
           std::tuple(b.first, b.finding.where.place.begin, b.finding.slug);
  });
  incomplete |= other.incomplete;
  if (other.first_bad && (!first_bad || other.first_bad < first_bad)) first_bad = other.first_bad;
}

RunReport run_schedule(const ir::Module& module, const launch::Contract& contract, const SchedulesPlan& plan,
                       std::uint64_t seed, sim::schedule::Recording* recording, sim::Observer* observer,
                       sim::schedule::Schedule* schedule) {
  launch::Contract mine = contract;
  if (plan.seed_inputs && seed != plan.first_seed && plan.options.simulation.strategy != Strategy::exhaustive) {
    for (launch::Buffer& b : mine.buffers) b.init.seed += seed - plan.first_seed;
    fill(mine, plan.options.folder);
  }
  sim::Options options = plan.options.simulation;
  options.seed = seed;
  options.record = recording;
  options.weigh_reads = true;
  if (schedule) options.schedule = schedule;
  RunReport report;
  report.simulation = sim::simulate(module, mine, options, report.findings, observer);
  if (!report.finished()) return report;
  const bool fast = options.arithmetic == sim::Arithmetic::fast;
  for (const launch::Expectation& e : mine.expectations)
    report.comparisons.push_back(compare(mine, e, fast ? Accumulation::f32_chain : Accumulation::tensor_core));
  return report;
}

SchedulesReport run_schedules(const ir::Module& module, const diag::SourcePtr& source, const launch::Contract& contract,
                              const SchedulesPlan& plan) {
  if (plan.options.simulation.strategy == Strategy::exhaustive) return explore(module, contract, plan);
  const auto part = [&](unsigned job, unsigned jobs, const std::function<void()>& tick) {
    SchedulesReport all;
    for (std::uint64_t k = job; k < plan.count; k += jobs) {
      all.merge(run_seed(module, contract, plan, plan.first_seed + k));
      tick();
    }
    return all;
  };
  std::uint64_t done = 0;
  const auto tick = [&] { plan.on_progress(++done); };
  const auto jobs = unsigned(std::min<std::uint64_t>(plan.jobs, plan.count));
  if (jobs <= 1) return part(0, 1, tick);
  SchedulesReport all;
  for (const std::string& text : in_processes(
           jobs, [&](unsigned job, const std::function<void()>&told) { return schedules_json(part(job, jobs, told)); },
           tick))
    all.merge(parse_schedules(text, "a process of --jobs", source));
  return all;
}

}  // namespace kiln::harness
