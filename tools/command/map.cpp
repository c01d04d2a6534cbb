// kiln map: a kernel of the table as pictures of the memory that it uses. A simulated run of one cluster is the source.
#include <fmt/format.h>

#include <memory>

#include "harness/host/files.hpp"
#include "harness/views/look.hpp"
#include "harness/views/pages.hpp"
#include "tools/command/kernel_arguments.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {
namespace {

constexpr const char* map_examples =
    "  kiln map gemm_bf16                              tensor and shared memory, to gemm_bf16.html\n"
    "  kiln map gemm_bf16 --k 128 --out map.html\n"
    "  kiln map gemm_bf16 --step step.html             also one tile's accumulation, MMA by MMA";

struct MapArguments {
  KernelChoice kernel{};
  std::string out{}, step{};
};

int map(const MapArguments& a) {
  const std::string out = a.out.empty() ? a.kernel.name + ".html" : a.out;
  const dsl::Entry& entry = a.kernel.entry();
  const dsl::Sizes sizes = a.kernel.chosen_sizes();
  const isa::Target target = a.kernel.chosen_target();
  for (const std::string& path : {out, a.step})
    if (!path.empty()) harness::check_writable(path);
  dsl::Kernel kernel = entry.build(target, sizes);
  diag::Sink sink;
  const launch::Contract contract = entry.problem(kernel, sizes);
  const harness::Look look = harness::look_at(std::move(kernel.module), a.kernel.name, contract, kernel.cluster, sink);
  print_findings(sink);
  if (look.maps.empty()) return diag::exit_code(sink);
  harness::PageFacts facts{a.kernel.name, isa::spelling(target), shown(sizes, entry), {}};
  const bool ended = look.outcome == sim::Outcome::finished;
  if (!ended)
    facts.remark = fmt::format("The run did not end ({}): this is what it did until then.", spelling(look.outcome));
  harness::write_file(out, harness::map_page(facts, look.maps));
  print(fmt::format("wrote {}\n", out));
  if (!a.step.empty()) {
    const std::vector<sim::MmaUse>& mmas = look.maps.front().mmas;
    harness::write_file(a.step, harness::step_page(mmas.empty() ? sim::MmaUse{} : mmas.front()));
    print(fmt::format("wrote {}\n", a.step));
  }
  const int code = diag::exit_code(sink);
  return code == Exit::clean && !ended ? int(Exit::incomplete) : code;
}

}  // namespace

void add_map(const Builder& builder) {
  CLI::App* sub = builder.add("map", "Draw the tensor and shared memory that a kernel uses", map_examples);
  auto a = std::make_shared<MapArguments>();
  add_kernel_arguments(*sub, a->kernel, builder, false);
  sub->add_option("--out", a->out, "the page to write [KERNEL.html]")->type_name("FILE.html");
  sub->add_option("--step", a->step, "also a page that steps through one tile's accumulation")->type_name("FILE.html");
  sub->callback([a, &action = builder.action] { action = [a] { return map(*a); }; });
}

}  // namespace kiln::command
