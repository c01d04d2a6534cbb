// kiln sim: any PTX file on the CPU, with the launches that a contract describes.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>

#include "harness/contract/contract_json.hpp"
#include "harness/run/run.hpp"
#include "tools/command/json.hpp"
#include "tools/command/read_source.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/numbers.hpp"
#include "tools/command/report/summary.hpp"
#include "tools/command/schedules.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {
namespace {

constexpr const char* sim_examples =
    "  kiln sim kernel.ptx --launch l.json\n"
    "  kiln sim kernel.ptx --launch l.json --seed 7     another schedule, the same inputs\n"
    "  kiln sim kernel.ptx --launch l.json --schedule pct --schedules 1000 --jobs 8\n"
    "  kiln sim kernel.ptx --launch l.json --json       everything as JSON\n\n"
    "Paths in the contract start at the contract's folder. `kiln emit KERNEL --format json` prints a contract.\n"
    "A load reads what was written last: what weak memory order alone allows is not shown, races are.";

struct SimArguments {
  std::string file{}, launch{}, seed = "1", arithmetic = "exact", max_steps = "0", ctas_per_sm{};
  harness::ViewOptions views{};
  std::string profile{};
  bool json = false, races = true;
  ScheduleArguments schedules{};
};

int simulate(const SimArguments& a) {
  const diag::SourcePtr source = read_source(a.file);
  launch::Contract contract = harness::read_contract(read_source(a.launch)->text(), a.launch);
  if (!a.ctas_per_sm.empty())
    for (launch::Launch& l : contract.launches)
      l.ctas_per_sm = std::uint32_t(std::min<std::uint64_t>(whole_number(a.ctas_per_sm, "--ctas-per-sm"), UINT32_MAX));
  RunFacts facts;
  facts.name = a.file;
  facts.options.contract = a.launch;
  facts.options.folder = folder_of(a.launch);
  facts.options.simulation.seed = whole_number(first_seed(a.schedules, a.seed), "--seed");
  facts.options.simulation.max_steps = whole_number(a.max_steps, "--max-steps");
  facts.options.simulation.detect_races = a.races;
  facts.options.simulation.arithmetic = a.arithmetic == "fast" ? sim::Arithmetic::fast : sim::Arithmetic::exact;
  // What the kernel prints must not end up inside JSON.
  facts.options.simulation.print = [to = a.json ? stderr : stdout](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), to);
  };
  facts.options.views = a.views;
  facts.options.profile.file = a.profile;
  harness::RunReport report;
  std::optional<Schedules> schedules;
  {
    Progress progress;
    schedules.emplace(a.schedules, facts, progress, false);
    facts.options.on_stage = [&progress](std::string_view stage) { progress.stage(stage); };
    report = harness::run_text(source, contract, facts.options);
  }
  if (schedules->many()) return schedules->finish(facts, report, a.json);
  print_findings(report.findings);
  print(a.json ? summary_json(facts, report) : summary_text(facts, report, colour_of(1)));
  schedules->save();
  return report.exit_code();
}

}  // namespace

void add_views(CLI::App& sub, harness::ViewOptions& views) {
  sub.add_option("--trace", views.trace, "write what ran and waited when, for ui.perfetto.dev; in ticks")
      ->type_name("FILE.json");
  sub.add_option("--map", views.maps, "write pictures of tensor and shared memory of the first cluster")
      ->type_name("DIR");
}

void add_sim(const Builder& builder) {
  CLI::App* sub = builder.add("sim", "Run a PTX file on the CPU and compare its result", sim_examples);
  auto a = std::make_shared<SimArguments>();
  sub->add_option("FILE", a->file, "a PTX file; - reads stdin")->required();
  sub->add_option("--launch", a->launch, "the launch contract")->required()->type_name("L.json");
  sub->add_option("--seed", a->seed, "of the schedule [1]")->type_name("N");
  sub->add_option("--arith", a->arithmetic, "exact: bit for bit the hardware's; fast: plain f32 [exact]")
      ->check(one_of({"exact", "fast"}))
      ->type_name("exact|fast");
  sub->add_option("--max-steps", a->max_steps, "warp instructions of a CTA before giving up; 0: a generous limit [0]")
      ->type_name("N");
  sub->add_option("--ctas-per-sm", a->ctas_per_sm, "CTAs that share an SM's tensor memory [.minnctapersm, or 1]")
      ->type_name("N");
  add_schedule_options(*sub, a->schedules);
  sub->add_flag("--races,!--no-races", a->races, "judge every access by happens-before [on]");
  add_views(*sub, a->views);
  sub->add_option("--profile", a->profile, "write which phase each warp was in when, for ui.perfetto.dev; in ticks")
      ->type_name("FILE.json");
  sub->add_flag("--json", a->json, "print the summary as JSON");
  sub->callback([a, &action = builder.action] { action = [a] { return simulate(*a); }; });
}

}  // namespace kiln::command
