#include "tools/command/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "harness/entry/entry.hpp"
#include "harness/host/files.hpp"
#include "harness/problem/fill.hpp"
#include "harness/run/run.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/isa/ptxas_version.hpp"
#include "ptx/parse/parse.hpp"
#include "ptx/rules/catalogue.hpp"
#include "tools/command/lint.hpp"
#include "tools/command/read_source.hpp"
#include "tools/command/version_options.hpp"
#include "verifier/global_memory.hpp"
#include "verifier/lints.hpp"
#include "verifier/mistakes.hpp"
#include "verifier/verify.hpp"

namespace kiln::command {
namespace {

void report_misfit(const diag::SourcePtr& source, const std::string& file, const std::string& why, diag::Sink& sink) {
  diag::Diagnostic d;
  d.message = file.empty() ? why : fmt::format("{}: {}", file, why);
  d.where = diag::Where::at(source, {});
  sink.report(std::move(d));
}

const launch::Contract* launch_of(const JudgeOptions& a) { return a.launch ? &*a.launch : nullptr; }

// A launch may begin while the one before it in the contract runs. What that touches, a run tells.
bool overlaps(const launch::Contract& contract) {
  return std::any_of(contract.launches.begin(), contract.launches.end(),
                     [&](const launch::Launch& l) { return l.pdl && &l != &contract.launches[0]; });
}

harness::RunReport run_launch(const diag::SourcePtr& source, const JudgeOptions& a, sim::Strategy strategy) {
  harness::RunOptions options;
  options.contract = a.launch_file;
  options.folder = folder_of(a.launch_file);
  options.simulation.print = [](std::string_view) {};
  options.simulation.strategy = strategy;
  launch::Contract inputs = *a.launch;
  for (launch::Buffer& b : inputs.buffers) b.out.clear();  // nothing is written
  return harness::run_text(source, inputs, options);
}

// The launch with what its small buffers of integers hold: trip counts may be out of these. A file that is not there is
// an error of a run.
std::optional<launch::Contract> with_numbers(const JudgeOptions& a) {
  constexpr std::uint64_t most_elements = 1 << 16;
  std::optional<launch::Contract> out = a.launch;
  if (!out) return out;
  const std::string folder = folder_of(a.launch_file);
  for (launch::Buffer& b : out->buffers) {
    const bool is_file = b.init.kind == launch::Init::Kind::npy;
    if (isa::is_floating(b.dtype) || b.init.quantised || b.init.kind == launch::Init::Kind::quantised ||
        b.elements() > most_elements ||
        (is_file && !std::filesystem::exists(harness::path_from(folder, b.init.text))))
      continue;
    harness::fill(b, folder);
  }
  return out;
}

// A launch that does not take long to run.
bool is_small(const launch::Contract& contract) {
  constexpr std::uint64_t most_threads = 1 << 15;
  std::uint64_t threads = 0;
  for (const launch::Launch& l : contract.launches) threads += l.grid.volume() * l.block.volume();
  return threads <= most_threads;
}

bool is_race(const diag::Diagnostic& d) {
  constexpr rules::Rule races[] = {rules::Rule::race, rules::Rule::race_unused, rules::Rule::race_async,
                                   rules::Rule::pdl_wait};
  return std::any_of(std::begin(races), std::end(races), [&](rules::Rule r) { return d.slug == rules::info(r).slug; });
}

// Where the synchronisation of shared and tensor memory is proven, a run shows races of global memory. Nothing else
// that it finds is asked for.
GlobalMemory judge_global_memory(const ir::Module& module, const JudgeOptions& a, diag::Sink& sink) {
  if (!(a.launch && overlaps(*a.launch)) && !verifier::may_race_in_global_memory(module, launch_of(a)))
    return GlobalMemory::out_of_question;
  if (!a.launch || !is_small(*a.launch)) return GlobalMemory::not_judged;
  const harness::RunReport run = run_launch(module.source, a, sim::Strategy::random);
  for (const diag::Diagnostic& d : run.findings.all())
    if (is_race(d)) sink.report(d);
  sink.sort();
  return run.finished() || sink.has_errors() ? GlobalMemory::simulated : GlobalMemory::not_judged;
}

// Whether the sink has a finding of this rule at this place. What was found before there was a text is at a line of the
// program alone.
bool says(const diag::Sink& sink, const diag::Diagnostic& d) {
  return !d.slug.empty() && std::any_of(sink.all().begin(), sink.all().end(), [&](const diag::Diagnostic& o) {
    const bool is_there = o.where.source ? o.where.place.begin == d.where.place.begin
                                         : o.where.line == d.where.line && o.where.file == d.where.file;
    return o.slug == d.slug && is_there;
  });
}

void add_news(const diag::Sink& found, diag::Sink& all) {
  for (const diag::Diagnostic& d : found.all())
    if (!says(all, d)) all.report(d);
}

// Where the synchronisation is not proven, runs show some of it: their findings join what is known.
diag::Sink with_runs(const ir::Module& module, const diag::Sink& known, const JudgeOptions& a) {
  diag::Sink all;
  for (diag::Diagnostic d : known.all()) {
    if (is_unfollowed(d))
      d.notes.push_back({"two runs of the launch were simulated instead, which proves nothing", {}});
    all.report(std::move(d));
  }
  for (const sim::Strategy strategy : {sim::Strategy::random, sim::Strategy::adversarial}) {
    const diag::Sink found = run_launch(module.source, a, strategy).findings;
    add_news(found, all);
    if (found.has_errors()) break;
  }
  verifier::gather_mistakes(module, all);
  return all;
}

}  // namespace

bool is_unfollowed(const diag::Diagnostic& d) { return d.slug == rules::info(rules::Limit::unfollowed).slug; }

std::string spelling(GlobalMemory g, std::string_view command) {
  switch (g) {
    case GlobalMemory::out_of_question: return {};
    case GlobalMemory::simulated:
      return "global memory: judged in a simulated run of the launch, which proves nothing\n";
    case GlobalMemory::not_judged:
      return fmt::format("global memory: not judged for races; {} judges the runs that it makes\n", command);
  }
  return {};
}

Judgement judge(const diag::SourcePtr& source, const JudgeOptions& a) {
  const auto begun = verifier::WorkClock::now();
  Judgement out;
  diag::Sink& sink = out.found;
  ir::Module module = parse::parse(source, sink);
  pin_ptx_version(module, a.ptx_version);
  const bool is_read = !sink.has_errors();
  verifier::check(module, sink, rules::parse_profile(a.profile).value_or(rules::Profile::isa), a.facts,
                  isa::parse_ptxas_version(a.ptxas));
  // Statements that could not be read are missing: what they do with the rest would be blamed on their absence.
  if (!is_read) return out;
  std::optional<Lint> lint;
  if (a.lint && !sink.has_errors()) lint.emplace(module, sink);
  // What follows from a mistake that is known is no news.
  if (!a.quick && !sink.has_errors()) {
    const std::optional<launch::Contract> launch = with_numbers(a);
    verifier::check_synchronisation(module, sink, launch ? &*launch : nullptr, a.facts,
                                    time_to_explore(a.budget, begun));
    if (a.lint) verifier::check_redundant_fences(module, sink, launch_of(a), a.facts, time_to_explore(a.budget, begun));
  }
  if (lint) lint->finish(sink, launch_of(a), a.facts);
  if (a.launch) {
    try {
      harness::check_fits(module, *a.launch);
    } catch (const diag::InputError& error) {
      report_misfit(module.source, a.launch_file, error.what(), sink);
    }
  }
  const bool is_proven = std::none_of(sink.all().begin(), sink.all().end(), is_unfollowed);
  if (is_proven || !a.launch) {
    if (!a.quick && !sink.has_errors()) out.global = judge_global_memory(module, a, sink);
    return out;
  }
  out.global = GlobalMemory::simulated;
  sink = with_runs(module, sink, a);
  return out;
}

void join(const diag::SourcePtr& source, diag::Sink& known, const diag::Sink& more) {
  add_news(more, known);
  diag::Sink said;
  verifier::gather_mistakes(parse::parse(source, said), known);
}

Judgement judge_kernel(const diag::SourcePtr& source, JudgeOptions options, verifier::LaunchFacts known) {
  known.cluster = options.facts.cluster, known.grid = options.facts.grid;
  known.parameters = options.facts.parameters;
  options.facts = std::move(known);
  Judgement out = judge(source, options);
  if (options.launch) return out;
  diag::Sink all;
  for (diag::Diagnostic d : out.found.all()) {
    if (is_unfollowed(d))
      d.notes.push_back({fmt::format("{} explores the launch of the kernel's problem alone", options.facts.option), {}});
    all.report(std::move(d));
  }
  out.found = std::move(all);
  return out;
}

// An exploration comes to an end, gives its memory back and says what it has found in the last fifth.
std::chrono::milliseconds time_to_explore(double budget, verifier::WorkClock::time_point begun) {
  const std::chrono::duration<double> all(budget), left = 0.8 * (all - (verifier::WorkClock::now() - begun));
  return std::max(std::chrono::milliseconds(1), std::chrono::duration_cast<std::chrono::milliseconds>(left));
}

}  // namespace kiln::command
