// kiln check: PTX texts, and kernels of the table as such, read and judged.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "harness/contract/contract_json.hpp"
#include "harness/entry/entry.hpp"
#include "harness/host/files.hpp"
#include "harness/run/run.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/diag/render_json.hpp"
#include "ptx/isa/targets.hpp"
#include "ptx/parse/parse.hpp"
#include "ptx/rules/catalogue.hpp"
#include "tools/command/assume.hpp"
#include "tools/command/baseline.hpp"
#include "tools/command/check.hpp"
#include "tools/command/kernel_text.hpp"
#include "tools/command/read_source.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/subcommands.hpp"
#include "verifier/explore.hpp"
#include "verifier/global_memory.hpp"
#include "verifier/lints.hpp"
#include "verifier/verify.hpp"

namespace kiln::command {
namespace {

constexpr const char* check_examples =
    "  kiln check kernel.ptx                  findings to stderr, in the layout of clang\n"
    "  kiln check *.ptx --strict              what only today's hardware allows is an error too\n"
    "  kiln check kernel.ptx --format sarif   for a code review\n"
    "  kiln check kernel.ptx --launch l.json  does this launch fit the kernel, and is it synchronised?\n"
    "  kiln check kernel.ptx --assume block=256 --assume cluster=2   the same, where the PTX does not say how large\n"
    "  kiln check kernel.ptx --fix            puts missing waits and fences into the file, and says which\n"
    "  kiln check *.ptx --baseline known.json only what --write-baseline known.json has not noted before\n"
    "  kiln check gemm_bf16                   a kernel of the table, for every launch; with --m 300, for that "
    "problem\n\n"
    "How threads synchronise is explored for all trip counts, or with --launch for that launch; nothing is run,\n"
    "unless with --launch something cannot be followed: then two runs are simulated and the answer stays incomplete\n"
    "(exit 3); or where threads may race in global memory, which is not explored: then one run of a small launch is.\n"
    "The last line says what became of global memory.";

struct CheckArguments {
  std::vector<std::string> files{};
  std::vector<std::string> assumed{};
  std::string format = "text", launch{}, profile = "isa";
  std::string baseline{}, write_baseline{};
  KernelToJudge kernel{};
  double budget = 10;  // seconds a file
  bool strict = false, json = false, quick = false, fix = false, lint = false, all = false;
};

// A text, and the launch that is explored, where one was given.
struct Subject {
  diag::SourcePtr source{};
  const launch::Contract* launch = nullptr;
  std::string launch_file{};  // that it is from; none: it is that of a kernel's problem
};

void report_misfit(const Subject& s, const std::string& why, diag::Sink& sink) {
  diag::Diagnostic d;
  d.message = s.launch_file.empty() ? why : fmt::format("{}: {}", s.launch_file, why);
  d.where = diag::Where::at(s.source, {});
  sink.report(std::move(d));
}

bool is_unfollowed(const diag::Diagnostic& d) { return d.slug == rules::info(rules::Limit::unfollowed).slug; }

// A launch may begin while the one before it in the contract runs. What that touches, a run tells.
bool overlaps(const launch::Contract& contract) {
  return std::any_of(contract.launches.begin(), contract.launches.end(),
                     [&](const launch::Launch& l) { return l.pdl && &l != &contract.launches[0]; });
}

// What became of races in global memory, which are not explored; of several files the latest row that any has.
enum class GlobalMemory : std::uint8_t { out_of_question, simulated, not_judged };

std::string spelling(GlobalMemory g) {
  switch (g) {
    case GlobalMemory::out_of_question: return {};
    case GlobalMemory::simulated:
      return "global memory: judged in a simulated run of the launch, which proves nothing\n";
    case GlobalMemory::not_judged:
      return "global memory: not judged for races; kiln sim judges the runs that it makes\n";
  }
  return {};
}

harness::RunReport run_launch(const Subject& s, sim::Strategy strategy) {
  harness::RunOptions options;
  options.contract = s.launch_file;
  options.folder = folder_of(s.launch_file);
  options.simulation.print = [](std::string_view) {};
  options.simulation.strategy = strategy;
  launch::Contract inputs = *s.launch;
  for (launch::Buffer& b : inputs.buffers) b.out.clear();  // nothing is written
  return harness::run_text(s.source, inputs, options);
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
GlobalMemory judge_global_memory(const ir::Module& module, const Subject& s, diag::Sink& sink) {
  if (!(s.launch && overlaps(*s.launch)) && !verifier::may_race_in_global_memory(module, s.launch))
    return GlobalMemory::out_of_question;
  if (!s.launch || !is_small(*s.launch)) return GlobalMemory::not_judged;
  const harness::RunReport run = run_launch(s, sim::Strategy::random);
  for (const diag::Diagnostic& d : run.findings.all())
    if (is_race(d)) sink.report(d);
  sink.sort();
  return run.finished() || sink.has_errors() ? GlobalMemory::simulated : GlobalMemory::not_judged;
}

// Where the synchronisation is not proven, runs show some of it: their findings join what is known.
diag::Sink with_runs(diag::Sink known, const Subject& s) {
  diag::Sink all;
  for (diag::Diagnostic d : known.all()) {
    if (is_unfollowed(d))
      d.notes.push_back({"two runs of the launch were simulated instead, which proves nothing", {}});
    all.report(std::move(d));
  }
  for (const sim::Strategy strategy : {sim::Strategy::random, sim::Strategy::adversarial}) {
    diag::Sink found = run_launch(s, strategy).findings;
    const bool ends = found.has_errors();
    all.append(std::move(found));
    if (ends) break;
  }
  all.sort();
  return all;
}

using Clock = std::chrono::steady_clock;

diag::Sink judge(const Subject& s, const CheckArguments& a, const verifier::LaunchFacts& facts, GlobalMemory& global) {
  const Clock::time_point begun = Clock::now();
  diag::Sink sink;
  const ir::Module module = parse::parse(s.source, sink);
  const bool is_read = !sink.has_errors();
  verifier::check(module, sink, rules::parse_profile(a.profile).value_or(rules::Profile::isa), facts);
  // Statements that could not be read are missing: what they do with the rest would be blamed on their absence.
  if (!is_read) return sink;
  if (a.lint && !sink.has_errors()) lint(module, sink, s.launch);
  // What follows from a mistake that is known is no news.
  if (!a.quick && !sink.has_errors()) {
    verifier::check_synchronisation(module, sink, s.launch, facts, time_to_explore(a.budget, begun));
    if (a.lint) verifier::check_redundant_fences(module, sink, s.launch, facts, time_to_explore(a.budget, begun));
  }
  if (s.launch) {
    try {
      harness::check_fits(module, *s.launch);
    } catch (const diag::InputError& error) {
      report_misfit(s, error.what(), sink);
    }
  }
  const bool is_proven = std::none_of(sink.all().begin(), sink.all().end(), is_unfollowed);
  if (is_proven || !s.launch) {
    if (!a.quick && !sink.has_errors()) global = judge_global_memory(module, s, sink);
    return sink;
  }
  global = GlobalMemory::simulated;
  return with_runs(std::move(sink), s);
}

diag::Sink check_file(const std::string& path, const CheckArguments& a, const verifier::LaunchFacts& facts,
                      const launch::Contract* launch, GlobalMemory& global) {
  const diag::SourcePtr source = read_source(path);
  const auto judged = [&](const diag::SourcePtr& text) { return judge({text, launch, a.launch}, a, facts, global); };
  return a.fix ? fix(path, source, judged) : judged(source);
}

// Of what is not proven for every launch: that one launch may be.
diag::Sink with_hint(const diag::Sink& found) {
  diag::Sink all;
  for (diag::Diagnostic d : found.all()) {
    if (is_unfollowed(d)) d.notes.push_back({"--problem explores the launch of the kernel's problem alone", {}});
    all.report(std::move(d));
  }
  return all;
}

diag::Sink check_kernel(const std::string& name, const CheckArguments& a, const verifier::LaunchFacts& facts,
                        const launch::Contract* launch, GlobalMemory& global) {
  if (a.fix) throw diag::InputError(fmt::format("--fix: {} is a kernel of the table, not a file", name));
  KernelText kernel = kernel_text(a.kernel, name);
  if (launch && kernel.problem) throw diag::InputError("--launch: there is a launch already, that of --problem");
  if (!kernel.source) return std::move(kernel.findings);
  if (!kernel.problem) {
    const diag::Sink found = judge({kernel.source, launch, a.launch}, a, facts, global);
    return launch ? found : with_hint(found);
  }
  diag::Sink sink;
  harness::check_contract(*kernel.problem, {}, sink);
  sink.append(judge({kernel.source, &*kernel.problem}, a, facts, global));
  return sink;
}

int check(const CheckArguments& a) {
  if (a.fix && a.format != "text" && std::find(a.files.begin(), a.files.end(), "-") != a.files.end())
    throw diag::InputError(fmt::format("--fix: the text of - goes to stdout, and so does --format {}", a.format));
  const verifier::LaunchFacts facts = read_facts(a.assumed);
  std::optional<Baseline> known;
  if (!a.baseline.empty()) known = Baseline::read(a.baseline);
  if (!a.write_baseline.empty()) harness::check_writable(a.write_baseline);
  const launch::Contract contract =
      a.launch.empty() ? launch::Contract{} : harness::read_contract(read_source(a.launch)->text(), a.launch);
  diag::Sink all;
  harness::check_contract(contract, a.launch, all);
  bool unreadable = false;
  GlobalMemory global = GlobalMemory::out_of_question;
  {
    Progress progress;
    for (const std::string& file : a.files) {
      progress.stage(file);
      try {
        GlobalMemory of_file = GlobalMemory::out_of_question;
        const auto checked = names_kernel(file) ? check_kernel : check_file;
        all.append(checked(file, a, facts, a.launch.empty() ? nullptr : &contract, of_file));
        global = std::max(global, of_file);
      } catch (const diag::InputError& error) {  // the other files still get their answer
        complain(fmt::format("error: {}\n", error.what()));
        unreadable = true;
      }
    }
  }
  if (!a.write_baseline.empty() && !unreadable) harness::write_file(a.write_baseline, Baseline::of(all).json());
  const std::size_t found = all.all().size();
  if (known) all = known->new_ones(all);
  const std::size_t left_out = found - all.all().size();
  if (a.format == "json")
    print(diag::render_json(all));
  else if (a.format == "sarif")
    print(diag::render_sarif(all));
  else
    a.all || a.strict ? print_findings(all) : complain(diag::render_grouped(all, "--all", colour_of(2)));
  if (!unreadable || !all.all().empty())
    complain(fmt::format("{}{}\n", diag::summary(all), left_out ? fmt::format(" ({} known)", left_out) : ""));
  complain(spelling(global));
  if (!a.write_baseline.empty() && !unreadable)
    return complain(fmt::format("{}: {} findings are known from now on\n", a.write_baseline, found)), int(Exit::clean);
  return unreadable ? int(Exit::unusable) : diag::exit_code(all, a.strict);
}

}  // namespace

// An exploration comes to an end, gives its memory back and says what it has found in the last fifth.
std::chrono::milliseconds time_to_explore(double budget, std::chrono::steady_clock::time_point begun) {
  const std::chrono::duration<double> left = 0.8 * (std::chrono::duration<double>(budget) - (Clock::now() - begun));
  return std::max(std::chrono::milliseconds(1), std::chrono::duration_cast<std::chrono::milliseconds>(left));
}

void add_check(const Builder& builder) {
  CLI::App* sub = builder.add("check", "Find what is wrong with PTX files", check_examples);
  auto a = std::make_shared<CheckArguments>();
  sub->add_option("FILE", a->files, "PTX files, kernels of the table; - reads stdin")->required();
  sub->add_flag("--strict", a->strict, "count portability findings as errors");
  sub->add_flag("--quick", a->quick, "look at instructions alone: do not explore how threads synchronise");
  sub->add_option("--launch", a->launch, "a launch contract that must fit every file, and what is explored")
      ->type_name("L.json");
  sub->add_option("--assume", a->assumed, std::string("what the PTX does not say: ") + assume_words)
      ->type_name("FACT")
      ->allow_extra_args(false)
      ->excludes("--launch");
  sub->add_option("--budget", a->budget,
                  "seconds that a file may take: what is not explored by then is incomplete [10]")
      ->check(CLI::Range(0.001, 86400.0))
      ->type_name("SECONDS");
  sub->add_flag("--lint", a->lint,
                "notes on what is legal but costs: registers, occupancy, unused memory, scopes, fences");
  sub->add_flag("--fix", a->fix,
                "put in the waits and fences that findings ask for, in place; the text of - goes to stdout");
  sub->add_option("--profile", a->profile, "isa agrees with ptxas; tileiras adds that compiler's contracts [isa]")
      ->check(one_of({"isa", "tileiras"}))
      ->type_name("isa|tileiras");
  sub->add_flag("--all", a->all,
                "show each portability finding and note, not the first of a rule and the lines of the others");
  sub->add_option("--baseline", a->baseline, "findings that are known: only others are shown and count")
      ->type_name("B.json");
  sub->add_option("--write-baseline", a->write_baseline, "write what is found as a baseline, and exit with 0")
      ->type_name("B.json")
      ->excludes("--baseline");
  sub->add_option("--format", a->format, "text to stderr; json or sarif to stdout [text]")
      ->check(one_of({"text", "json", "sarif"}))
      ->type_name("text|json|sarif");
  sub->add_flag("--json", a->json, "the same as --format json");
  add_kernel_to_judge(*sub, a->kernel, builder.words);
  sub->callback([a, &action = builder.action] {
    if (a->json) a->format = "json";
    action = [a] { return check(*a); };
  });
}

}  // namespace kiln::command
