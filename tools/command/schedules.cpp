#include "tools/command/schedules.hpp"

#include <fmt/format.h>

#include <array>

#include "ptx/diag/error.hpp"
#include "tools/command/json.hpp"
#include "tools/command/judge.hpp"
#include "tools/command/report/numbers.hpp"

namespace kiln::command {
namespace {

using diag::InputError;
using sim::Strategy;

constexpr std::uint64_t standard_traces = 10'000;  // of an exploration
constexpr std::uint64_t most_jobs = 1024;

Strategy strategy_of(const std::string& word) {
  for (const Strategy s : {Strategy::random, Strategy::adversarial, Strategy::pct, Strategy::exhaustive})
    if (sim::spelling(s) == word) return s;
  throw diag::InternalError("--schedule was not checked");
}

std::uint64_t at_least_one(const std::string& text, const char* option, std::uint64_t otherwise) {
  if (text.empty()) return otherwise;
  const std::uint64_t n = whole_number(text, option);
  if (n == 0) throw InputError(fmt::format("{}: must be at least 1; got 0", option));
  return n;
}

void check(const ScheduleArguments& a) {
  const bool exhaustive = a.schedule == "exhaustive";
  if (exhaustive && !a.jobs.empty()) throw InputError("--jobs: an exploration (--schedule exhaustive) is one process");
  if (exhaustive && !a.first_seed.empty())
    throw InputError("--first-seed: an exploration (--schedule exhaustive) has no seeds");
  if (!a.replay.empty() && (!a.schedules.empty() || !a.jobs.empty() || !a.first_seed.empty() || exhaustive))
    throw InputError("--replay: follows one schedule; --schedules, --jobs, --first-seed and exhaustive choose others");
  if (a.shrink && a.save.empty()) throw InputError("--shrink: say where the schedule goes, with --save-schedule FILE");
  if (at_least_one(a.jobs, "--jobs", 1) > most_jobs) throw InputError(fmt::format("--jobs: at most {}", most_jobs));
  if (!a.schedules.empty() && at_least_one(a.schedules, "--schedules", 1) > (std::uint64_t{1} << 40))
    throw InputError("--schedules: at most 2^40");
}

}  // namespace

void add_schedule_options(CLI::App& sub, ScheduleArguments& a) {
  const auto option = [&](const char* name, std::string& value, const char* help, const char* type) {
    return sub.add_option(name, value, help)->type_name(type)->group("Schedules");
  };
  option("--schedule", a.schedule, "how the order of things is chosen [random]", "random|adversarial|pct|exhaustive")
      ->check(one_of({"random", "adversarial", "pct", "exhaustive"}));
  option("--schedules", a.schedules, "run so many seeds; of exhaustive: at most so many orders [1; 10000]", "N");
  option("--jobs", a.jobs, "spread the seeds over so many processes [1]", "J");
  option("--first-seed", a.first_seed, "the seed to begin with [--seed]", "S");
  option("--save-schedule", a.save, "write the decisions; of many schedules: those of the first with an error", "FILE");
  option("--replay", a.replay, "follow the decisions of a file", "FILE");
  sub.add_flag("--shrink", a.shrink, "leave out of the schedule with an error what it does not need")
      ->group("Schedules");
}

std::string first_seed(const ScheduleArguments& a, const std::string& seed) {
  check(a);
  if (!a.replay.empty()) return std::to_string(harness::read_schedule(a.replay).seed);
  return a.first_seed.empty() ? seed : a.first_seed;
}

Schedules::Schedules(const ScheduleArguments& a, RunFacts& facts, Progress& progress, bool seed_inputs)
    : arguments_(a), progress_(progress) {
  sim::Options& options = facts.options.simulation;
  options.strategy = strategy_of(a.schedule);
  const bool chosen = a.schedule != "random" || !a.schedules.empty() || !a.jobs.empty() || !a.first_seed.empty() ||
                      !a.save.empty() || !a.replay.empty();
  if (chosen && facts.options.backend == harness::Backend::cuda)
    throw InputError("--backend cuda: a GPU takes no schedules");
  const bool exhaustive = options.strategy == Strategy::exhaustive;
  many_ = exhaustive || !a.schedules.empty() || a.shrink;
  plan_.name = facts.sizes.empty() ? facts.name : facts.name + "  " + facts.target + "  " + facts.sizes;
  plan_.first_seed = options.seed;
  plan_.count = at_least_one(a.schedules, "--schedules", exhaustive ? standard_traces : 1);
  plan_.jobs = unsigned(at_least_one(a.jobs, "--jobs", 1));
  plan_.seed_inputs = seed_inputs;
  if (!exhaustive && plan_.count - 1 > ~std::uint64_t{0} - plan_.first_seed)
    throw InputError("--schedules: the seeds from the first one on go beyond 2^64 - 1");
  if (!a.replay.empty()) {
    replayed_ = harness::read_schedule(a.replay);
    options.replay = &replayed_.recording;
  }
  if (!a.save.empty() && !many_) options.record = &recording_;
  plan_.options = facts.options;
  if (chosen)
    facts.options.on_ready = [this](const ir::Module& m, const diag::SourcePtr& p, const launch::Contract& c) {
      return ready(m, p, c);
    };
}

bool Schedules::ready(const ir::Module& module, const diag::SourcePtr& ptx, const launch::Contract& contract) {
  ptx_ = ptx;
  contract_ = {};
  contract_.launches = contract.launches;
  if (!arguments_.replay.empty()) harness::check_schedule(arguments_.replay, *ptx, contract);
  if (many_) run_many(module, contract);
  return !many_;
}

void Schedules::run_many(const ir::Module& module, const launch::Contract& contract) {
  plan_.on_progress = [this](std::uint64_t done) {
    progress_.stage(fmt::format("schedule {} of {}", done, plan_.count));
  };
  report_ = harness::run_schedules(module, ptx_, contract, plan_);
  if (!arguments_.save.empty()) save_first_bad(module, contract);
}

// The decisions of a seed, or of the trace of that number.
sim::schedule::Recording Schedules::record(const ir::Module& module, const launch::Contract& contract,
                                           std::uint64_t seed) const {
  sim::schedule::Recording recording;
  if (plan_.options.simulation.strategy != Strategy::exhaustive) {
    harness::run_schedule(module, contract, plan_, seed, &recording);
    return recording;
  }
  std::uint64_t number = 0;
  sim::schedule::explore(plan_.count, [&](sim::schedule::Schedule& schedule, sim::Observer& observer) {
    sim::schedule::Recording trace;
    harness::run_schedule(module, contract, plan_, plan_.first_seed, &trace, &observer, &schedule);
    if (++number == seed) recording = std::move(trace);
    return number < seed;
  });
  return recording;
}

void Schedules::save_first_bad(const ir::Module& module, const launch::Contract& contract) {
  const std::uint64_t bad = report_->first_bad;
  if (!bad) {
    saved_ = fmt::format("  {} is not written: no schedule has an error\n", arguments_.save);
    return;
  }
  const bool exhaustive = plan_.options.simulation.strategy == Strategy::exhaustive;
  const std::uint64_t seed = exhaustive ? plan_.first_seed : bad;
  sim::schedule::Recording recording = record(module, contract, bad);
  if (arguments_.shrink) {
    progress_.stage("shrink");
    recording = harness::shrink(module, contract, plan_, seed, recording);
  }
  std::size_t decisions = 0;
  for (const auto& c : recording.clusters) decisions += c.decisions.size();
  harness::write_schedule(arguments_.save, {seed, std::move(recording)}, *ptx_, contract);
  saved_ = fmt::format("  wrote {}: {} decision{}; again: --replay {}\n", arguments_.save, decisions,
                       decisions == 1 ? "" : "s", arguments_.save);
}

void Schedules::save() {
  if (!arguments_.save.empty() && ptx_)
    harness::write_schedule(arguments_.save, {plan_.first_seed, recording_}, *ptx_, contract_);
}

int Schedules::finish(const RunFacts& facts, const harness::RunReport& run, bool json) {
  if (!report_) {  // it did not come to running
    print_findings(run.findings);
    print(json ? summary_json(facts, run) : summary_text(facts, run, colour_of(1)));
    return run.exit_code();
  }
  diag::Sink findings;
  const std::string text = schedules_text(*report_, findings);
  join(ptx_, findings, {});
  print_findings(findings);
  print(json ? versioned(harness::schedules_json(*report_)) : text + saved_);
  return report_->exit_code();
}

}  // namespace kiln::command
