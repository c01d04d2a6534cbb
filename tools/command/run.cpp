// kiln run: a kernel of the table, from C++ to a compared result.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "harness/pipeline/pipeline.hpp"
#include "harness/run/run.hpp"
#include "ptx/diag/error.hpp"
#include "tools/command/gpu_options.hpp"
#include "tools/command/json.hpp"
#include "tools/command/judge.hpp"
#include "tools/command/kernel_arguments.hpp"
#include "tools/command/kernel_text.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/numbers.hpp"
#include "tools/command/report/summary.hpp"
#include "tools/command/schedules.hpp"
#include "tools/command/subcommands.hpp"
#include "tools/command/version_options.hpp"

namespace kiln::command {
namespace {

constexpr const char* run_examples =
    "  kiln run gemm_bf16 --m 512 --n 512 --k 512      built, verified, assembled, simulated, compared\n"
    "  kiln run gemm_bf16 --a a.npy --b b.npy --out d.npy\n"
    "  kiln run copy_tma --target sm_90a --backend cuda\n"
    "  kiln run copy_tma --target sm_90a --backend cuda --rows 8192 --cols 8192 --time\n"
    "  kiln run gemm_bf16 --keep build/gemm --json     keep the PTX, the cubin and the launch contract\n"
    "  kiln run gemm_bf16 --prove                      and explore it as kiln check does, for every launch and order";

struct RunArguments {
  KernelChoice kernel{};
  bool races = true, prove = false;
  harness::ViewOptions views{};
  std::string backend = "sim", arithmetic = "exact", seed = "1", keep{}, ptx_version{};
  std::vector<std::string> outputs{};
  ScheduleArguments schedules{};
  GpuArguments gpu{};
  bool json = false;
};

// Where --out puts which buffer: "FILE" for the only output, "D=FILE" for one of several.
void set_outputs(const std::vector<std::string>& outputs, launch::Contract& contract) {
  const std::vector<std::string> names = output_buffers(contract);
  for (const std::string& out : outputs) {
    const std::size_t equals = out.find('=');
    launch::Buffer* buffer = equals == std::string::npos ? nullptr : contract.find(out.substr(0, equals));
    if (buffer) {
      buffer->out = out.substr(equals + 1);
    } else if (names.size() == 1) {
      contract.find(names[0])->out = out;
    } else {
      throw diag::InputError(fmt::format("--out: say which buffer, as in {}={}; there are {}",
                                         names.empty() ? "D" : names[0], out, fmt::join(names, ", ")));
    }
  }
}

dsl::Kernel build(const RunArguments& a, const dsl::Sizes& sizes) {
  dsl::Kernel kernel = a.kernel.entry().build(a.kernel.chosen_target(), sizes);
  pin_ptx_version(kernel.module, a.ptx_version);
  return kernel;
}

launch::Contract prepare(const RunArguments& a, const dsl::Entry& entry, const dsl::Kernel& kernel,
                         const dsl::Sizes& sizes) {
  launch::Contract contract = entry.problem(kernel, sizes);
  const std::uint64_t seed = whole_number(a.seed, "--seed");
  for (launch::Buffer& b : contract.buffers) b.init.seed += seed - 1;
  for (const auto& [buffer, path] : a.kernel.inputs) {
    launch::Init& init = contract.find(buffer)->init;
    init = {};
    init.kind = launch::Init::Kind::npy;
    init.text = path;
  }
  set_outputs(a.outputs, contract);
  return contract;
}

RunFacts read_facts(const RunArguments& a, Progress& progress) {
  RunFacts facts;
  facts.name = a.kernel.name;
  facts.target = isa::spelling(a.kernel.chosen_target());
  facts.numbers = a.kernel.chosen_sizes();
  facts.proof = "--prove";
  facts.sizes = shown(facts.numbers, a.kernel.entry());
  harness::RunOptions& o = facts.options;
  o.backend = a.backend == "cuda" ? harness::Backend::cuda : harness::Backend::sim;
  o.simulation.seed = whole_number(a.seed, "--seed");
  o.simulation.detect_races = a.races;
  o.simulation.arithmetic = a.arithmetic == "fast" ? sim::Arithmetic::fast : sim::Arithmetic::exact;
  apply(a.gpu, o);
  o.keep = a.keep;
  o.views = a.views;
  if (o.views.any() && o.backend != harness::Backend::sim)
    throw diag::InputError("--trace and --map show a simulated run: they need --backend sim");
  o.on_stage = [&progress](std::string_view stage) { progress.stage(stage); };
  return facts;
}

// What kiln check says of the kernel. What the run has found as well is one finding.
void explore(harness::RunReport& report, verifier::LaunchFacts known, const RunFacts& facts) {
  facts.options.on_stage("explore");
  const auto start = std::chrono::steady_clock::now();
  known.option = "kiln check --problem";
  const diag::Sink found = judge_kernel(report.ptx, {}, std::move(known)).found;
  const bool is_complete = std::none_of(found.all().begin(), found.all().end(), is_unfollowed);
  report.exploration = {diag::summary(found), is_complete};
  join(report.ptx, report.findings, found);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  report.stages.push_back({"explore", seconds.count()});
}

harness::RunReport execute(const RunArguments& a, const RunFacts& facts) {
  const dsl::Entry& entry = a.kernel.entry();
  const dsl::Sizes sizes = a.kernel.chosen_sizes();
  const auto start = std::chrono::steady_clock::now();
  try {
    dsl::Kernel kernel = build(a, sizes);
    launch::Contract contract = prepare(a, entry, kernel, sizes);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    verifier::LaunchFacts known = launch_facts(kernel);
    harness::RunReport report = harness::run_module(std::move(kernel.module), a.kernel.name, contract, facts.options);
    report.stages.insert(report.stages.begin(), {"build", seconds});
    if (a.prove && report.ptx) explore(report, std::move(known), facts);
    return report;
  } catch (const diag::Rejected& rejected) {
    harness::RunReport report;
    report.findings = rejected.findings();
    return report;
  }
}

// What was timed, for a prediction: the run took the kernel.
Timed timed_again(const RunArguments& a) {
  const dsl::Entry& entry = a.kernel.entry();
  const dsl::Sizes sizes = a.kernel.chosen_sizes();
  dsl::Kernel kernel = build(a, sizes);
  launch::Contract contract = prepare(a, entry, kernel, sizes);
  diag::Sink sink;
  return {harness::emit_verified(std::move(kernel.module), a.kernel.name + ".ptx", sink), std::move(contract)};
}

int run(RunArguments a) {
  a.seed = first_seed(a.schedules, a.seed);
  if (a.prove && !a.schedules.schedules.empty())
    throw diag::InputError("--prove follows every order, and --schedules runs some: leave one of them out");
  harness::RunReport report;
  RunFacts facts;
  std::optional<Schedules> schedules;
  {
    Progress progress;
    facts = read_facts(a, progress);
    schedules.emplace(a.schedules, facts, progress, true);
    report = execute(a, facts);
  }
  if (schedules->many()) return schedules->finish(facts, report, a.json);
  print_findings(report.findings);
  print_summary(a.gpu, facts, report, a.json, [&] { return timed_again(a); });
  schedules->save();
  return finish_gpu_run(report);
}

}  // namespace

void add_run(const Builder& builder) {
  CLI::App* sub =
      builder.add("run", "Build, verify, emit, assemble and run a kernel, and compare its result", run_examples);
  auto a = std::make_shared<RunArguments>();
  add_kernel_arguments(*sub, a->kernel, builder, true);
  sub->add_option("--backend", a->backend, "sim: on this CPU; cuda: on a GPU [sim]")
      ->check(one_of({"sim", "cuda"}))
      ->type_name("sim|cuda");
  add_ptx_version(*sub, a->ptx_version, "the .version of the PTX [the lowest that it needs]");
  sub->add_option("--out", a->outputs, "write an output; with several outputs, NAME=FILE")
      ->allow_extra_args(false)
      ->type_name("[NAME=]FILE.npy");
  sub->add_option("--seed", a->seed, "of the generated inputs and of the simulator's schedule [1]")->type_name("N");
  sub->add_flag("--races,!--no-races", a->races, "judge every access by happens-before [on]");
  sub->add_flag("--prove", a->prove, "explore every order and trip count of every launch too, as kiln check does");
  sub->add_option("--arith", a->arithmetic, "exact: bit for bit the hardware's; fast: plain f32 [exact]")
      ->check(one_of({"exact", "fast"}))
      ->type_name("exact|fast");
  add_schedule_options(*sub, a->schedules);
  add_gpu_options(*sub, a->gpu);
  sub->add_option("--keep", a->keep, "keep the PTX, the cubin and the launch contract")->type_name("DIR");
  add_views(*sub, a->views);
  sub->add_flag("--json", a->json, "print the summary as JSON");
  sub->callback([a, &action = builder.action] { action = [a] { return run(*a); }; });
}

}  // namespace kiln::command
