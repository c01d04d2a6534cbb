// kiln time: how long a kernel takes on a chip, predicted from its PTX.
#include <memory>
#include <optional>

#include "harness/contract/contract_json.hpp"
#include "harness/host/files.hpp"
#include "harness/pipeline/pipeline.hpp"
#include "ptx/diag/refuse.hpp"
#include "ptx/parse/parse.hpp"
#include "timing/predict.hpp"
#include "tools/command/advice.hpp"
#include "tools/command/calibrate.hpp"
#include "tools/command/chip_choice.hpp"
#include "tools/command/kernel_arguments.hpp"
#include "tools/command/prediction.hpp"
#include "tools/command/read_source.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/numbers.hpp"
#include "tools/command/subcommands.hpp"
#include "tools/command/time_report.hpp"
#include "tools/command/time_views.hpp"

namespace kiln::command {
namespace {

constexpr const char* time_examples =
    "  kiln time gemm_v4 --m 4096 --n 4096 --k 4096\n"
    "  kiln time kernel.ptx --launch l.json --chip b200 --clock 1.85\n"
    "  kiln time gemm_f16 --what-if stages=6 --what-if copy_row=x0.5\n"
    "  kiln time --calibrate --out mine.json\n"
    "  kiln time kernel.ptx --launch l.json --chip mine.json --json\n\n"
    "The first cluster of each launch runs on the simulator under the clock of a chip; nothing is measured. Interval: "
    "all\n"
    "facts about the chip at the slow or the fast end of what is known of them. chips/README.md has the form of a "
    "chip.";

struct TimeArguments {
  KernelChoice kernel{};
  std::string launch{}, clock{}, l2{}, out{}, trace{}, page{}, profile{};
  std::vector<std::string> what_if{};
  double budget = 0;
  bool json = false, values = false, calibrate = false, advice = false, facts = false, all = false;
};

struct Subject {
  diag::SourcePtr ptx{};
  launch::Contract contract{};
  std::string folder{};
};

Subject file_of(const TimeArguments& a) {
  if (a.launch.empty()) diag::refuse("a PTX file needs its launch contract: --launch L.json");
  return {read_source(a.kernel.name), harness::read_contract(read_source(a.launch)->text(), a.launch),
          folder_of(a.launch)};
}

Subject kernel_of(const KernelChoice& choice, diag::Sink& sink) {
  const dsl::Entry& entry = choice.entry();
  const dsl::Sizes sizes = choice.chosen_sizes();
  dsl::Kernel kernel = entry.build(choice.chosen_target(), sizes);
  launch::Contract contract = entry.problem(kernel, sizes);
  return {harness::emit_verified(std::move(kernel.module), choice.name + ".ptx", sink), std::move(contract), {}};
}

bool is_file(const TimeArguments& a) { return a.kernel.name == "-" || a.kernel.name.ends_with(".ptx"); }

Subject subject_of(const TimeArguments& a, diag::Sink& sink) {
  if (is_file(a)) return file_of(a);
  if (!a.launch.empty()) diag::refuse("--launch is for a PTX file; `{}` brings its own contract", a.kernel.name);
  return kernel_of(a.kernel, sink);
}

// The chip that is named, or else the usual one of the PTX.
timing::Chip chip_for(std::optional<timing::Chip> named, const ir::Module& module) {
  timing::Chip chip = named ? std::move(*named) : harness::chip_of(usual_chip(module.target()));
  if (module.target()) require_runs(chip, *module.target());
  return chip;
}

// The same prediction of a chip or a kernel in which one thing is different.
WhatIf predicted_change(const TimeArguments& a, const Subject& subject, timing::Chip chip,
                        const timing::Question& question, const std::string& what) {
  KernelChoice choice = a.kernel;
  change(what, chip, choice, !is_file(a));
  diag::Sink sink;
  const Subject other = choice.sizes == a.kernel.sizes ? subject : kernel_of(choice, sink);
  if (!other.ptx) diag::refuse("--what-if {}: {}", what, sink.all().empty() ? "no kernel" : sink.all().front().message);
  const ir::Module module = parse::parse(other.ptx, sink);
  const timing::Prediction p = predict_launches(module, other.contract, other.folder, chip, question, sink);
  if (p.outcome != sim::Outcome::finished)
    diag::refuse("--what-if {}: the run of the first cluster did not end ({})", what, spelling(p.outcome));
  return {what, p.cycles, p.seconds};
}

int time_kernel(TimeArguments a) {
  if (a.calibrate) {
    if (!a.kernel.name.empty()) diag::refuse("--calibrate measures the GPU at hand, and takes no kernel");
    return calibrate_gpu(a.out, a.budget);
  }
  if (!a.out.empty()) diag::refuse("--out says where --calibrate writes, and there is no --calibrate");
  if (a.budget > 0) diag::refuse("--budget limits --calibrate, and there is no --calibrate");
  if (a.kernel.name.empty()) diag::refuse("a PTX file or a kernel is missing");
  timing::Question question;
  question.values = a.values;
  question.facts = a.facts;
  question.l2 = a.l2 == "warm" ? timing::L2::warm : timing::L2::cold;
  question.all = a.all;
  if (!a.clock.empty()) question.clock = positive_number(a.clock, "--clock");
  std::optional<timing::Chip> named;
  if (!a.kernel.chip.empty()) named = harness::chip_of(a.kernel.chip);
  if (named && a.kernel.target.empty() && !is_file(a))
    a.kernel.target = isa::spelling(first_that_runs(*named, a.kernel.entry().targets, a.kernel.name));
  diag::Sink sink;
  const Subject subject = subject_of(a, sink);
  if (!subject.ptx) {
    print_findings(sink);
    return diag::exit_code(sink);
  }
  const ir::Module module = parse::parse(subject.ptx, sink);
  if (sink.has_errors()) {
    print_findings(sink);
    return Exit::errors;
  }
  const timing::Chip chip = chip_for(std::move(named), module);
  question.timeline = !a.trace.empty() || !a.page.empty();
  for (const std::string* path : {&a.trace, &a.page, &a.profile})
    if (!path->empty()) harness::check_writable(*path);
  timing::Prediction prediction;
  std::vector<WhatIf> changes;
  {
    Progress progress;
    progress.stage("predicting");
    prediction = predict_launches(module, subject.contract, subject.folder, chip, question, sink);
    if (prediction.outcome == sim::Outcome::finished)
      for (const std::string& what : a.what_if) {
        progress.stage(what);
        changes.push_back(predicted_change(a, subject, chip, question, what));
      }
    if (prediction.outcome == sim::Outcome::finished && !a.profile.empty()) {
      progress.stage("profile");
      harness::write_file(a.profile,
                          predicted_profile(module, subject.contract, subject.folder, chip, question, a.kernel.name));
    }
  }
  print_findings(sink);
  if (prediction.outcome != sim::Outcome::finished) {
    complain(
        fmt::format("no prediction: the run of the first cluster did not end ({})\n", spelling(prediction.outcome)));
    const int code = diag::exit_code(sink);
    return code == Exit::clean ? int(Exit::incomplete) : code;
  }
  std::vector<std::string> advice;
  if (a.advice && module.target()) advice = advice_on(subject.ptx, *module.target(), prediction);
  if (!a.trace.empty()) harness::write_file(a.trace, time_trace(prediction));
  if (!a.page.empty()) harness::write_file(a.page, time_page(a.kernel.name, chip, prediction));
  print(a.json ? time_json(a.kernel.name, chip, prediction, changes, advice)
               : time_text(a.kernel.name, chip, prediction, changes, advice));
  return diag::exit_code(sink);
}

}  // namespace

void add_time(const Builder& builder) {
  CLI::App* sub = builder.add("time", "Predict how long a kernel takes on a chip, and why", time_examples);
  auto a = std::make_shared<TimeArguments>();
  sub->add_option("FILE|KERNEL", a->kernel.name, "a PTX file, - for stdin, or a kernel as `kiln list` names it");
  sub->add_option("--launch", a->launch, "the launch contract of a file")->type_name("L.json");
  sub->add_option("--target", a->kernel.target, "architecture to build a kernel for [the kernel's first that the chip runs]")
      ->type_name("sm_NNN");
  sub->add_option("--chip", a->kernel.chip, "b200, h200, h100 or a file [by the target: b200 or h100]")
      ->type_name("CHIP");
  sub->add_option("--clock", a->clock, "the SM clock in GHz [what the chip has under such a load]")->type_name("GHZ");
  sub->add_option("--l2", a->l2,
                  "what L2 holds when the kernel begins: something else, or the buffers if they fit [cold]")
      ->check(one_of({"cold", "warm"}))
      ->type_name("cold|warm");
  sub->add_flag("--facts", a->facts, "which facts about the chip matter, by a run for each");
  sub->add_flag("--values", a->values, "compute what the tensor core computes even if nothing depends on it");
  sub->add_flag("--all-clusters", a->all, "run every cluster of the grid, and infer none from others: slow");
  sub->add_flag("--json", a->json, "print the prediction as JSON");
  sub->add_option("--what-if", a->what_if,
                  "predict it again with a fact of the chip or an option of the kernel changed: copy_row=x0.5, "
                  "tensor_core=x0.5, load_latency=300, stages=5; may be repeated")
      ->type_name("NAME=VALUE")
      ->take_all();
  sub->add_option("--trace", a->trace, "write the timeline of the first clusters, in microseconds, for ui.perfetto.dev")
      ->type_name("FILE.json");
  sub->add_option(
         "--profile", a->profile,
         "write what `kiln gpu --profile` would record, predicted: the same phases of the instrumented kernel, "
         "in cycles, of the clusters that are run")
      ->type_name("FILE.json");
  sub->add_option("--html", a->page, "write the prediction and its timeline as one page")->type_name("FILE.html");
  sub->add_flag("--advice", a->advice, "say what can be changed: registers and spills (asks ptxas), waves, stages");
  sub->add_flag("--calibrate", a->calibrate, "measure the GPU at hand, and write it as a chip file");
  sub->add_option("--out", a->out, "where --calibrate writes the chip [standard output]")->type_name("CHIP.json");
  sub->add_option("--budget", a->budget, "for --calibrate: no measurement begins after it [no limit]")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber);
  add_kernel_sizes(*sub, a->kernel, builder);
  sub->callback([a, &action = builder.action] { action = [a] { return time_kernel(*a); }; });
}

}  // namespace kiln::command
