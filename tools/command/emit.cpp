// kiln emit: a kernel of the table as PTX, as a cubin, its launch contract, or a C++ header that launches it.
// kiln emit-raw: a text, taken apart and put together again, for tests of the emitter.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "emit/emit.hpp"
#include "harness/contract/contract_json.hpp"
#include "harness/contract/launch_header.hpp"
#include "harness/host/files.hpp"
#include "harness/pipeline/pipeline.hpp"
#include "harness/ptxas/ptxas.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/parse/parse.hpp"
#include "tools/command/kernel_arguments.hpp"
#include "tools/command/read_source.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/shapes.hpp"
#include "tools/command/subcommands.hpp"
#include "tools/command/version_options.hpp"

namespace kiln::command {
namespace {

constexpr const char* emit_examples =
    "  kiln emit gemm_bf16                          PTX to the terminal\n"
    "  kiln emit gemm_bf16 --format cubin -o gemm.cubin\n"
    "  kiln emit gemm_bf16 --m 1024 --format json   the launch contract of that problem\n"
    "  kiln emit gemm_bf16 --m 1024 --format header -o gemm.hpp    C++ that holds the cubin and launches that problem\n"
    "  kiln emit gemm --shapes s.csv --format header -o gemm.hpp   the same for many shapes, behind one call";

struct EmitArguments {
  KernelChoice kernel{};
  std::string format = "ptx", output{}, ptx_version{}, shapes{};
  bool json = false;
};

void deliver(const std::string& path, std::string_view content, bool binary) {
  if (!path.empty() && path != "-") return harness::write_file(path, content);
  if (binary && ::isatty(1)) throw diag::InputError("a cubin is no text for a terminal; name a file with -o");
  print(content);
}

// What ptxas makes of the text; nothing where it refuses, which has been said then.
std::optional<harness::Assembly> assembled(const diag::SourcePtr& ptx, isa::Target target, diag::Sink& sink) {
  harness::Assembly assembly = harness::assemble(harness::find_ptxas(), ptx, target, sink);
  print_findings(sink);
  if (assembly.status == harness::Assembly::Status::unavailable) throw diag::InputError(assembly.reason);
  if (assembly.status == harness::Assembly::Status::assembled) return assembly;
  if (!assembly.reason.empty()) complain(fmt::format("error: {}\n", assembly.reason));
  return std::nullopt;
}

int deliver_cubin(const EmitArguments& a, const diag::SourcePtr& ptx, isa::Target target, diag::Sink& sink) {
  const auto assembly = assembled(ptx, target, sink);
  if (!assembly) return Exit::errors;
  deliver(a.output, {reinterpret_cast<const char*>(assembly->cubin.data()), assembly->cubin.size()}, true);
  return diag::exit_code(sink);
}

int deliver_header(const EmitArguments& a, const diag::SourcePtr& ptx, const launch::Contract& contract,
                   diag::Sink& sink) {
  const isa::Target target = a.kernel.chosen_target();
  harness::HeaderJob job{a.kernel.name, a.kernel.name, a.kernel.name + ", " + isa::spelling(target), target, {}};
  for (const auto& [name, value] : a.kernel.chosen_sizes()) job.origin += fmt::format(" {}={}", name, text(value));
  const auto assembly = assembled(ptx, target, sink);
  if (!assembly) return Exit::errors;
  job.cubin = assembly->cubin;
  deliver(a.output, harness::write_launch_header(job, contract), false);
  return diag::exit_code(sink);
}

// A kernel that was chosen for a shape of `gemm`; nothing where the verifier or ptxas refuses it, which is said.
std::optional<harness::GemmHeaderPart> gemm_part(const EmitArguments& a, const KernelChoice& chosen) {
  const dsl::Entry& entry = chosen.entry();
  const isa::Target target = chosen.chosen_target();
  const dsl::Sizes sizes = chosen.chosen_sizes();
  dsl::Kernel kernel = entry.build(target, sizes);
  pin_ptx_version(kernel.module, a.ptx_version);
  harness::GemmHeaderPart part;
  part.contract = entry.problem(kernel, sizes);
  part.m = sizes.at("m"), part.n = sizes.at("n"), part.k = sizes.at("k");
  part.job = {fmt::format("m{}_n{}_k{}", part.m, part.n, part.k),
              chosen.name,
              fmt::format("{}, {} {}", chosen.name, isa::spelling(target), shown(sizes, entry)),
              target,
              {}};
  diag::Sink sink;
  const diag::SourcePtr ptx = harness::emit_verified(std::move(kernel.module), chosen.name + ".ptx", sink);
  if (!ptx) {
    print_findings(sink);
    return std::nullopt;
  }
  const auto assembly = assembled(ptx, target, sink);
  if (!assembly) return std::nullopt;
  part.job.cubin = assembly->cubin;
  return part;
}

// One header for the shapes of a file.
int emit_shapes(const EmitArguments& a) {
  if (!is_gemm(a.kernel.name))
    throw diag::InputError("--shapes: is for `gemm`, which chooses a kernel for each of them");
  if (a.format != "header") throw diag::InputError("--shapes: many kernels are one header; add --format header");
  std::vector<harness::GemmHeaderPart> parts;
  Progress progress;
  for (const GemmShape& shape : read_shapes(a.shapes, a.kernel.type)) {
    if (shape.type != a.kernel.type) continue;
    progress.stage(fmt::format("{}x{}x{}", *shape.m, *shape.n, *shape.k));
    KernelChoice choice = a.kernel;
    choice.sizes["m"] = std::to_string(*shape.m), choice.sizes["n"] = std::to_string(*shape.n);
    choice.sizes["k"] = std::to_string(*shape.k);
    choice.settle();
    auto part = gemm_part(a, choice);
    if (!part) return Exit::errors;
    parts.push_back(std::move(*part));
  }
  if (parts.empty()) throw diag::InputError(fmt::format("{}: no shape of type {}", a.shapes, a.kernel.type));
  deliver(a.output, harness::write_gemm_header(a.kernel.type, parts), false);
  return Exit::clean;
}

int emit_kernel(const EmitArguments& a) {
  if (!a.shapes.empty()) return emit_shapes(a);
  const dsl::Entry& entry = a.kernel.entry();
  const isa::Target target = a.kernel.chosen_target();
  const dsl::Sizes sizes = a.kernel.chosen_sizes();
  Progress progress;
  dsl::Kernel kernel = entry.build(target, sizes);
  pin_ptx_version(kernel.module, a.ptx_version);
  if (a.format == "json") {
    deliver(a.output, harness::write_contract(entry.problem(kernel, sizes)), false);
    return Exit::clean;
  }
  diag::Sink sink;
  const launch::Contract contract = a.format == "header" ? entry.problem(kernel, sizes) : launch::Contract();
  const diag::SourcePtr ptx = harness::emit_verified(std::move(kernel.module), a.kernel.name + ".ptx", sink);
  if (ptx && a.format == "cubin") return deliver_cubin(a, ptx, target, sink);
  if (ptx && a.format == "header") return deliver_header(a, ptx, contract, sink);
  print_findings(sink);
  if (!ptx) {
    complain(fmt::format("{}\n", diag::summary(sink)));
    return diag::exit_code(sink);
  }
  deliver(a.output, ptx->text(), false);
  return diag::exit_code(sink);
}

int emit_raw(const std::string& path) {
  diag::Sink sink;
  const ir::Module module = parse::parse(read_source(path), sink);
  print_findings(sink);
  if (sink.has_errors()) return Exit::errors;
  print(emit::emit_unverified(module));
  return diag::exit_code(sink);
}

}  // namespace

void add_emit(const Builder& builder) {
  CLI::App* sub = builder.add(
      "emit", "Write a kernel as verified PTX, as a cubin, its launch contract, or a C++ header", emit_examples);
  auto a = std::make_shared<EmitArguments>();
  add_kernel_arguments(*sub, a->kernel, builder, false);
  sub->add_option("--format", a->format, "ptx, cubin or header (need ptxas), or json (the launch contract) [ptx]")
      ->check(one_of({"ptx", "cubin", "json", "header"}))
      ->type_name("ptx|cubin|json|header");
  sub->add_option_function<std::string>(
         "--shapes", [a](const std::string& path) { a->shapes = path, a->kernel.is_open = true; },
         "of `gemm`: one header for all shapes of its type in a file with columns m, n, k and type")
      ->type_name("FILE.csv");
  add_ptx_version(*sub, a->ptx_version,
                  "the .version of the text; what needs a later one is an error "
                  "[the lowest that the text needs]");
  sub->add_option("-o,--output", a->output, "file to write [stdout]")->type_name("FILE");
  sub->add_flag("--json", a->json, "the same as --format json");
  sub->callback([a, &action = builder.action] {
    if (a->json) a->format = "json";
    action = [a] { return emit_kernel(*a); };
  });
}

void add_emit_raw(const Builder& builder) {
  CLI::App* sub = builder.add("emit-raw", "Parse a PTX file and write it back, unverified: for tests of the emitter",
                              "  kiln emit-raw kernel.ptx");
  sub->group("");  // not in the list of commands
  auto path = std::make_shared<std::string>();
  sub->add_option("FILE", *path, "a PTX file; - reads stdin")->required();
  sub->callback([path, &action = builder.action] { action = [path] { return emit_raw(*path); }; });
}

}  // namespace kiln::command
