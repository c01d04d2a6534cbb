// kiln gpu: any PTX file on a GPU, with the launches that a contract describes.
#include <cstdint>
#include <memory>

#include "harness/contract/contract_json.hpp"
#include "harness/host/files.hpp"
#include "harness/run/run.hpp"
#include "tools/command/gpu_options.hpp"
#include "tools/command/json.hpp"
#include "tools/command/read_source.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/numbers.hpp"
#include "tools/command/report/summary.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {
namespace {

constexpr const char* gpu_examples =
    "  kiln gpu kernel.ptx --launch l.json\n"
    "  kiln gpu kernel.ptx --launch l.json --time                    median time, beside cuBLAS's\n"
    "  kiln gpu kernel.ptx --launch l.json --time --repetitions 100 --json\n\n"
    "The file is assembled by ptxas, not verified. Contract and paths are those of `kiln sim`.";

struct GpuRunArguments {
  std::string file{}, launch{}, seed = "1";
  GpuArguments gpu{};
  bool json = false;
};

int run(const GpuRunArguments& a) {
  const diag::SourcePtr source = read_source(a.file);
  launch::Contract contract = harness::read_contract(read_source(a.launch)->text(), a.launch);
  RunFacts facts;
  facts.name = a.file;
  facts.options.backend = harness::Backend::cuda;
  facts.options.contract = a.launch;
  facts.options.folder = folder_of(a.launch);
  facts.options.simulation.seed = whole_number(a.seed, "--seed");
  apply(a.gpu, facts.options);
  const launch::Contract asked = contract;
  harness::RunReport report;
  {
    Progress progress;
    facts.options.on_stage = [&progress](std::string_view stage) { progress.stage(stage); };
    report = harness::run_text(source, contract, facts.options);
  }
  print_findings(report.findings);
  print_summary(a.gpu, facts, report, a.json, [&] { return Timed{source, asked}; });
  return finish_gpu_run(report);
}

}  // namespace

void add_gpu(const Builder& builder) {
  CLI::App* sub = builder.add("gpu", "Run a PTX file on a GPU and compare its result", gpu_examples);
  auto a = std::make_shared<GpuRunArguments>();
  sub->add_option("FILE", a->file, "a PTX file; - reads stdin")->required();
  sub->add_option("--launch", a->launch, "the launch contract")->required()->type_name("L.json");
  sub->add_option("--seed", a->seed, "of the sample that is compared [1]")->type_name("N");
  add_gpu_options(*sub, a->gpu);
  sub->add_flag("--json", a->json, "print the summary as JSON");
  sub->callback([a, &action = builder.action] { action = [a] { return run(*a); }; });
}

}  // namespace kiln::command
