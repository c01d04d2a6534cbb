// kiln check: its options, its inputs, and what is said of them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <sstream>

#include "harness/contract/contract_json.hpp"
#include "harness/entry/entry.hpp"
#include "harness/host/files.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/diag/render_json.hpp"
#include "tools/command/assume.hpp"
#include "tools/command/baseline.hpp"
#include "tools/command/check_cache.hpp"
#include "tools/command/fix.hpp"
#include "tools/command/json.hpp"
#include "tools/command/judge_inputs.hpp"
#include "tools/command/junit.hpp"
#include "tools/command/kernel_text.hpp"
#include "tools/command/read_source.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/subcommands.hpp"
#include "tools/command/version_options.hpp"

namespace kiln::command {
namespace {

constexpr const char* check_examples =
    "  kiln check kernel.ptx                  findings to stderr, in the layout of clang\n"
    "  kiln check *.ptx --strict              what only today's hardware allows is an error too\n"
    "  kiln check kernel.ptx --format sarif   for a code review\n"
    "  kiln check kernel.ptx --launch l.json  does this launch fit the kernel, and is it synchronised?\n"
    "  kiln check kernel.ptx --assume block=256 --assume cluster=2   the same, where the PTX does not say how large\n"
    "  kiln check kernel.ptx --fix            puts missing waits and fences into the file, and says which\n"
    "  kiln check kernel.ptx --ptxas 13.1     what that version refuses is an error\n"
    "  kiln check *.ptx --baseline known.json only what --write-baseline known.json has not noted before\n"
    "  kiln check . --jobs 4 --junit k.xml    every .ptx, .cu, .cubin and .fatbin file of a tree\n"
    "  kiln check gemm_bf16                   a kernel of the table, for every launch; with --problem --m 300, for "
    "that\n"
    "                                         launch\n\n"
    "How threads synchronise is explored for all trip counts, or with --launch for that launch; nothing is run,\n"
    "unless with --launch something cannot be followed: then two runs are simulated and the answer stays incomplete\n"
    "(exit 3); or where threads may race in global memory, which is not explored: then one run of a small launch is.\n"
    "The last line says what became of global memory.\n\n"
    "A .cu file is compiled by nvcc first, and the PTX in a binary is found by cuobjdump: without them such a file is\n"
    "incomplete. Each file is judged in a process of its own. If Kiln fails on one, the others get their answer, and "
    "the\n"
    "exit code is 4 unless one of them has errors (1) or cannot be read (2). What a text was found to be is kept in\n"
    "$KILN_CACHE (else ~/.cache/kiln), unless it depends on a launch, on ptxas (--lint) or on the budget.";

struct CheckArguments {
  std::vector<std::string> files{}, assumed{}, nvcc_options{"-arch=sm_100a"};
  std::string format = "text", baseline{}, write_baseline{}, junit{};
  JudgeOptions judge{};
  KernelToJudge kernel{};
  unsigned jobs = 0;  // 0: as many as this machine has cores
  bool strict = false, json = false, fix = false, all = false, no_cache = false;
};

using Outcome = InputResult::Outcome;

// In this process, as files and stdout are written.
InputResult fix_input(const Input& input, const JudgeOptions& options) {
  InputResult out;
  out.input = input;
  try {
    if (input.kind == Input::Kind::kernel)
      throw diag::InputError(fmt::format("--fix: {} is a kernel of the table, not a file", input.path));
    if (input.kind != Input::Kind::ptx)
      throw diag::InputError(fmt::format("{}: --fix repairs PTX files alone", input.path));
    const auto judged = [&](const diag::SourcePtr& text) {
      Judgement j = judge(text, options);
      out.judgement.global = j.global;
      return std::move(j.found);
    };
    out.judgement.found = fix(input.path, read_source(input.path), judged);
  } catch (const diag::InputError& error) {
    out.outcome = Outcome::unusable;
    out.why = error.what();
  }
  return out;
}

JudgedText judge_of_table(const std::string& name, const CheckArguments& a) {
  KernelText kernel = kernel_text(a.kernel, name);
  if (a.judge.launch && kernel.problem)
    throw diag::InputError("--launch: there is a launch already, that of --problem");
  if (!kernel.source) return {nullptr, {std::move(kernel.findings)}};
  JudgeOptions options = a.judge;
  JudgedText out{kernel.source};
  if (kernel.problem) {
    harness::check_contract(*kernel.problem, {}, out.judgement.found);
    options.launch = std::move(kernel.problem);
  }
  Judgement judged = judge_kernel(kernel.source, options, std::move(kernel.facts));
  out.judgement.found.append(std::move(judged.found));
  out.judgement.found.sort();  // errors before what the launch was told
  out.judgement.global = judged.global;
  return out;
}

std::vector<std::string> words_of(const std::vector<std::string>& options) {
  std::vector<std::string> out;
  for (const std::string& option : options) {
    std::istringstream words(option);
    for (std::string word; words >> word;) out.push_back(word);
  }
  return out;
}

std::vector<InputResult> judge_all(const std::vector<Input>& inputs, const CheckArguments& a) {
  Progress progress;
  const auto begins = [&](std::size_t i) {
    progress.stage(inputs.size() == 1 ? inputs[i].path
                                      : fmt::format("{} of {}: {}", i + 1, inputs.size(), inputs[i].path));
  };
  if (a.fix) {
    std::vector<InputResult> out;
    for (std::size_t i = 0; i < inputs.size(); ++i) begins(i), out.push_back(fix_input(inputs[i], a.judge));
    return out;
  }
  const CheckCache cache(!a.no_cache);
  const std::vector<std::string> nvcc_options = words_of(a.nvcc_options);
  InputJudge with;
  with.judge = [&](const Input& input) {
    if (input.kind == Input::Kind::kernel) return std::vector{judge_of_table(input.path, a)};
    std::vector<JudgedText> out;
    for (const diag::SourcePtr& text : texts_of(input, nvcc_options)) out.push_back({text, cache.judge(text, a.judge)});
    return out;
  };
  with.at_once = a.jobs ? a.jobs : std::max(1u, std::thread::hardware_concurrency());
  with.begins = begins;
  return judge_inputs(inputs, with);
}

// For a reader of files: PTX that was taken out of another file is in none, so its findings are at the line of the
// program, or at the file.
diag::Diagnostic in_program(diag::Diagnostic d, const std::string& file) {
  const auto move = [&](diag::Where& w) {
    if (!w.source) return;
    if (!w.line) w.file = file;
    w.source = nullptr;
    w.place = {};
  };
  const auto position = d.where.source->position(d.where.place.begin);
  d.notes.push_back({fmt::format("line {} of the PTX: {}", position.line, d.where.source->line(position.line)), {}});
  move(d.where);
  for (diag::Note& n : d.notes) move(n.where);
  d.fixits.clear();
  return d;
}

diag::Sink in_files(const std::vector<InputResult>& results, const diag::Sink& shown) {
  std::map<const diag::Source*, std::string> made_of;
  for (const InputResult& r : results)
    for (const diag::Diagnostic& d : r.judgement.found.all())
      if (r.input.kind != Input::Kind::ptx) made_of[d.where.source.get()] = r.input.path;
  diag::Sink out;
  for (const diag::Diagnostic& d : shown.all()) {
    const auto made = made_of.find(d.where.source.get());
    out.report(d.where.source && made != made_of.end() ? in_program(d, made->second) : d);
  }
  return out;
}

void show(const std::vector<InputResult>& results, const diag::Sink& shown, const CheckArguments& a) {
  if (a.format == "json")
    print(versioned(diag::render_json(shown)));
  else if (a.format == "sarif")
    print(diag::render_sarif(in_files(results, shown)));
  else
    a.all || a.strict ? print_findings(shown) : complain(diag::render_grouped(shown, "--all", colour_of(2)));
}

bool any(const std::vector<InputResult>& results, Outcome outcome) {
  return std::any_of(results.begin(), results.end(), [&](const InputResult& r) { return r.outcome == outcome; });
}

int exit_code(const std::vector<InputResult>& results, const diag::Sink& found, bool strict) {
  if (any(results, Outcome::unusable)) return Exit::unusable;
  const int code = diag::exit_code(found, strict);
  return code != Exit::errors && any(results, Outcome::broken) ? int(Exit::bug) : code;
}

// Reads what the options name, before anything is judged.
void read_options(CheckArguments& a, diag::Sink& found) {
  if (a.fix && a.format != "text" && std::find(a.files.begin(), a.files.end(), "-") != a.files.end())
    throw diag::InputError(fmt::format("--fix: the text of - goes to stdout, and so does --format {}", a.format));
  a.judge.facts = read_facts(a.assumed);
  for (const std::string& written : {a.write_baseline, a.junit})
    if (!written.empty()) harness::check_writable(written);
  if (const std::string& file = a.judge.launch_file; !file.empty()) {
    a.judge.launch = harness::read_contract(read_source(file)->text(), file);
    harness::check_contract(*a.judge.launch, file, found);
  }
}

int check(CheckArguments a) {
  diag::Sink all;
  std::optional<Baseline> known;
  if (!a.baseline.empty()) known = Baseline::read(a.baseline);
  read_options(a, all);
  std::vector<InputResult> results = judge_all(find_inputs(a.files), a);
  std::size_t found = all.all().size();
  if (known) all = known->take_known(all);
  GlobalMemory global = GlobalMemory::out_of_question;
  for (InputResult& r : results) {
    if (r.outcome == Outcome::unusable) complain(fmt::format("error: {}\n", r.why));
    found += r.judgement.found.all().size();
    if (known) r.judgement.found = known->take_known(r.judgement.found);
    all.append(r.judgement.found);
    global = std::max(global, r.judgement.global);
  }
  const bool unreadable = any(results, Outcome::unusable);
  if (!a.write_baseline.empty() && !unreadable) harness::write_file(a.write_baseline, Baseline::of(all).json());
  if (!a.junit.empty()) harness::write_file(a.junit, junit(results, a.strict));
  show(results, all, a);
  const std::size_t left_out = found - all.all().size();
  if (!unreadable || !all.all().empty())
    complain(fmt::format("{}{}\n", diag::summary(all), left_out ? fmt::format(" ({} known)", left_out) : ""));
  const bool any_file = std::any_of(results.begin(), results.end(),
                                    [](const InputResult& r) { return r.input.kind != Input::Kind::kernel; });
  complain(spelling(global, any_file ? "kiln sim" : "kiln run"));
  if (!a.write_baseline.empty() && !unreadable)
    return complain(fmt::format("{}: {} findings are known from now on\n", a.write_baseline, found)), int(Exit::clean);
  return exit_code(results, all, a.strict);
}

}  // namespace

void add_check(const Builder& builder) {
  CLI::App* sub = builder.add("check", "Find what is wrong with PTX files", check_examples);
  auto a = std::make_shared<CheckArguments>();
  sub->add_option("FILE", a->files,
                  "PTX files, CUDA programs, binaries, folders of them, kernels of the table; - reads PTX from stdin")
      ->required();
  sub->add_flag("--strict", a->strict, "count portability findings as errors");
  sub->add_flag("--quick", a->judge.quick, "look at instructions alone: do not explore how threads synchronise");
  sub->add_option("--launch", a->judge.launch_file, "a launch contract that must fit every file, and what is explored")
      ->type_name("L.json");
  sub->add_option("--assume", a->assumed, std::string("what the PTX does not say: ") + assume_words)
      ->type_name("FACT")
      ->allow_extra_args(false)
      ->excludes("--launch");
  sub->add_option("--budget", a->judge.budget,
                  "seconds of processor time that a file may take: what is not explored by then is incomplete [10]")
      ->check(CLI::Range(0.001, 86400.0))
      ->type_name("SECONDS");
  sub->add_flag("--lint", a->judge.lint,
                "notes on what is legal but costs: registers, occupancy, unused memory, scopes, fences");
  sub->add_flag("--fix", a->fix,
                "put in the waits and fences that findings ask for, in place; the text of - goes to stdout");
  sub->add_option("--profile", a->judge.profile, "isa agrees with ptxas; tileiras adds that compiler's contracts [isa]")
      ->check(one_of({"isa", "tileiras"}))
      ->type_name("isa|tileiras");
  add_ptxas_version(*sub, a->judge.ptxas, "judge as this version of ptxas does: what it refuses is an error");
  add_ptx_version(*sub, a->judge.ptx_version, "judge texts as if this were their .version");
  sub->add_flag("--all", a->all,
                "show each portability finding and note, not the first of a rule and the lines of the others");
  sub->add_option("--baseline", a->baseline, "findings that are known: only others are shown and count")
      ->type_name("B.json");
  sub->add_option("--write-baseline", a->write_baseline, "write what is found as a baseline, and exit with 0")
      ->type_name("B.json")
      ->excludes("--baseline");
  sub->add_option("--jobs", a->jobs, "files that are judged at once [as many as there are cores]")
      ->check(CLI::Range(1u, 1024u))
      ->type_name("J");
  sub->add_flag("--no-cache", a->no_cache, "judge each file anew, and keep nothing");
  sub->add_option("--nvcc", a->nvcc_options, "options of nvcc for .cu files [-arch=sm_100a]")
      ->type_name("OPTIONS")
      ->allow_extra_args(false);
  sub->add_option("--junit", a->junit, "write a test for each file, as JUnit does, for continuous integration")
      ->type_name("FILE");
  sub->add_option("--format", a->format, "text to stderr; json or sarif to stdout [text]")
      ->check(one_of({"text", "json", "sarif"}))
      ->type_name("text|json|sarif");
  sub->add_flag("--json", a->json, "the same as --format json");
  add_kernel_to_judge(*sub, a->kernel, builder);
  sub->callback([a, &action = builder.action] {
    if (a->json) a->format = "json";
    action = [a] { return check(*a); };
  });
}

}  // namespace kiln::command
