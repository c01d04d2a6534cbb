// kiln time: how long a kernel takes on a chip, predicted from its PTX.
#include <memory>

#include "harness/chip/chip_json.hpp"
#include "harness/contract/contract_json.hpp"
#include "harness/pipeline/pipeline.hpp"
#include "harness/problem/fill.hpp"
#include "ptx/diag/refuse.hpp"
#include "ptx/parse/parse.hpp"
#include "timing/predict.hpp"
#include "tools/command/calibrate.hpp"
#include "tools/command/kernel_arguments.hpp"
#include "tools/command/read_source.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/numbers.hpp"
#include "tools/command/subcommands.hpp"
#include "tools/command/time_report.hpp"

namespace kiln::command {
namespace {

constexpr const char* time_examples =
    "  kiln time gemm_v4 --m 4096 --n 4096 --k 4096\n"
    "  kiln time kernel.ptx --launch l.json --chip b200 --clock 1.85\n"
    "  kiln time --calibrate --out mine.json\n"
    "  kiln time kernel.ptx --launch l.json --chip mine.json --json\n\n"
    "The first cluster of each launch runs on the simulator under the clock of a chip; nothing is measured. Interval: "
    "all\n"
    "facts about the chip at the slow or the fast end of what is known of them. chips/README.md has the form of a "
    "chip.";

struct TimeArguments {
  KernelChoice kernel{};
  std::string launch{}, chip{}, clock{}, out{};
  bool json = false, values = false, calibrate = false;
  bool facts = false;
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

Subject kernel_of(const TimeArguments& a, diag::Sink& sink) {
  if (!a.launch.empty()) diag::refuse("--launch is for a PTX file; `{}` brings its own contract", a.kernel.name);
  const dsl::Entry& entry = a.kernel.entry();
  const dsl::Sizes sizes = a.kernel.chosen_sizes();
  dsl::Kernel kernel = entry.build(a.kernel.chosen_target(), sizes);
  launch::Contract contract = entry.problem(kernel, sizes);
  return {harness::emit_verified(std::move(kernel.module), a.kernel.name + ".ptx", sink), std::move(contract), {}};
}

// What nothing depends on need not be random. What the clusters that are left out would have written is no poison.
void simplify(launch::Contract& contract, bool values) {
  using Kind = launch::Init::Kind;
  for (launch::Buffer& b : contract.buffers) {
    const bool random = (b.init.kind == Kind::normal || b.init.kind == Kind::uniform) && !b.init.quantised;
    if (b.init.kind == Kind::poison || (random && !values && isa::is_floating(b.dtype))) b.init.kind = Kind::zeros;
  }
}

std::string chip_for(const TimeArguments& a, const ir::Module& module) {
  if (!a.chip.empty()) return a.chip;
  const auto target = module.target();
  return target && target->sm >= 90 && target->sm < 100 ? "h100" : "b200";
}

int time_kernel(const TimeArguments& a) {
  if (a.calibrate) {
    if (!a.kernel.name.empty()) diag::refuse("--calibrate measures the GPU at hand, and takes no kernel");
    return calibrate_gpu(a.out);
  }
  if (!a.out.empty()) diag::refuse("--out says where --calibrate writes, and there is no --calibrate");
  if (a.kernel.name.empty()) diag::refuse("a PTX file or a kernel is missing");
  timing::Question question;
  question.values = a.values;
  question.facts = a.facts;
  if (!a.clock.empty()) question.clock = positive_number(a.clock, "--clock");
  if (!a.chip.empty()) harness::chip_of(a.chip);  // a chip that is not known is said before anything is built
  diag::Sink sink;
  const bool is_file = a.kernel.name == "-" || a.kernel.name.ends_with(".ptx");
  Subject subject = is_file ? file_of(a) : kernel_of(a, sink);
  if (!subject.ptx) {
    print_findings(sink);
    return diag::exit_code(sink);
  }
  const ir::Module module = parse::parse(subject.ptx, sink);
  if (sink.has_errors()) {
    print_findings(sink);
    return Exit::errors;
  }
  const timing::Chip chip = harness::chip_of(chip_for(a, module));
  const bool values = a.values || timing::needs_values(module);
  timing::Prediction prediction;
  {
    Progress progress;
    progress.stage("filling");
    simplify(subject.contract, values);
    harness::fill(subject.contract, subject.folder);
    progress.stage("predicting");
    prediction = timing::predict(module, subject.contract, chip, question, sink);
  }
  print_findings(sink);
  if (prediction.outcome != sim::Outcome::finished) {
    complain(
        fmt::format("no prediction: the run of the first cluster did not end ({})\n", spelling(prediction.outcome)));
    const int code = diag::exit_code(sink);
    return code == Exit::clean ? int(Exit::incomplete) : code;
  }
  print(a.json ? time_json(a.kernel.name, chip, prediction) : time_text(a.kernel.name, chip, prediction));
  return diag::exit_code(sink);
}

}  // namespace

void add_time(const Builder& builder) {
  CLI::App* sub = builder.add("time", "Predict how long a kernel takes on a chip, and why", time_examples);
  auto a = std::make_shared<TimeArguments>();
  sub->add_option("FILE|KERNEL", a->kernel.name, "a PTX file, - for stdin, or a kernel as `kiln list` names it");
  sub->add_option("--launch", a->launch, "the launch contract of a file")->type_name("L.json");
  sub->add_option("--target", a->kernel.target, "architecture to build a kernel for [the kernel's first]")
      ->type_name("sm_NNN");
  sub->add_option("--chip", a->chip, "b200, h200, h100 or a file [by the target: b200 or h100]")->type_name("CHIP");
  sub->add_option("--clock", a->clock, "the SM clock in GHz [what the chip has under such a load]")->type_name("GHZ");
  sub->add_flag("--facts", a->facts, "which facts about the chip matter, by a run for each");
  sub->add_flag("--values", a->values, "compute what the tensor core computes even if nothing depends on it");
  sub->add_flag("--json", a->json, "print the prediction as JSON");
  sub->add_flag("--calibrate", a->calibrate, "measure the GPU at hand, and write it as a chip file");
  sub->add_option("--out", a->out, "where --calibrate writes the chip [standard output]")->type_name("CHIP.json");
  add_kernel_sizes(*sub, a->kernel, builder.words);
  sub->callback([a, &action = builder.action] { action = [a] { return time_kernel(*a); }; });
}

}  // namespace kiln::command
