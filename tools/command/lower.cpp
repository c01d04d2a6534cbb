// kiln lower: a kernel with tcgen05 as one without, for GPUs that have none.
#include "lower/lower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "emit/emit.hpp"
#include "harness/contract/contract_json.hpp"
#include "harness/host/files.hpp"
#include "harness/pipeline/pipeline.hpp"
#include "harness/ptxas/ptxas.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/parse/parse.hpp"
#include "ptx/rules/catalogue.hpp"
#include "tools/command/chip_choice.hpp"
#include "tools/command/kernel_arguments.hpp"
#include "tools/command/read_source.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/subcommands.hpp"
#include "tools/command/version_options.hpp"
#include "verifier/verify.hpp"

namespace kiln::command {
namespace {

constexpr const char* lower_examples =
    "  kiln lower kernel.ptx --target sm_90a -o lowered.ptx\n"
    "  kiln lower kernel.ptx --target sm_120a --launch l.json --launch-out l2.json -o lowered.ptx\n"
    "  kiln lower no_tma.ptx --target sm_89 --launch l.json --launch-out l2.json -o lowered.ptx\n"
    "  kiln lower gemm_v4 --m 1024 --target sm_90a --launch-out l.json -o v4.ptx     a kernel of the library";

struct LowerArguments {
  KernelChoice kernel{};  // its name may be a file's
  std::string target = "sm_90a", image = "auto", launch{}, launch_out{}, output{}, keep_rejected{}, ptx_version{};
  bool no_ptxas = false;
};

// What is to be lowered, and how it is launched.
struct LowerInput {
  diag::SourcePtr text{};
  ir::Module module{};
  std::optional<launch::Contract> contract{};
};

bool is_file(const std::string& name) { return name == "-" || name.ends_with(".ptx") || std::filesystem::exists(name); }

std::optional<LowerInput> library_input(const KernelChoice& a, const dsl::Sizes& sizes, diag::Sink& sink) {
  const dsl::Entry& entry = a.entry();
  LowerInput out;
  dsl::Kernel kernel = entry.build(entry.targets[0], sizes);
  out.contract = entry.problem(kernel, sizes);
  out.text = harness::emit_verified(std::move(kernel.module), a.name + ".ptx", sink);
  if (!out.text) return std::nullopt;
  out.module = parse::parse(out.text, sink);
  if (sink.has_errors()) return std::nullopt;
  return out;
}

std::optional<LowerInput> input(const LowerArguments& a, diag::Sink& sink) {
  LowerInput out;
  if (is_file(a.kernel.name)) {
    out.text = read_source(a.kernel.name);
    out.module = parse::parse(out.text, sink);
    if (!a.launch.empty()) out.contract = harness::read_contract(read_source(a.launch)->text(), a.launch);
  } else {
    return library_input(a.kernel, a.kernel.chosen_sizes(), sink);
  }
  if (sink.has_errors()) return std::nullopt;
  return out;
}

lower::Options options(const LowerArguments& a, const LowerInput& in) {
  return {*isa::parse_target(a.target),
          a.image == "shared"   ? lower::Place::shared
          : a.image == "global" ? lower::Place::global
                                : lower::Place::automatic,
          in.contract ? &*in.contract : nullptr};
}

// Where a kernel of the library does not fit: the first of its strategies that does. Empty: none, or another reason.
std::string strategy_that_fits(const LowerArguments& a, const diag::Sink& sink) {
  const bool too_large = std::any_of(sink.all().begin(), sink.all().end(), [](const diag::Diagnostic& d) {
    return d.slug == rules::info(rules::Limit::lower_shared_memory).slug;
  });
  if (!too_large || is_file(a.kernel.name)) return {};
  for (const dsl::Strategy& strategy : a.kernel.entry().strategies) {
    dsl::Sizes sizes = a.kernel.chosen_sizes();
    for (const auto& [option, value] : strategy) sizes[std::string(option)] = value;
    diag::Sink tried;
    const std::optional<LowerInput> in = library_input(a.kernel, sizes, tried);
    if (in && lower::lower(in->module, options(a, *in), tried)) return dsl::text(strategy);
  }
  return {};
}

// The lowered kernel on its way out: nothing is written that the verifier or ptxas refuses.
class Acceptance {
 public:
  Acceptance(const LowerArguments& a, const LowerInput& in, diag::Sink& sink) : a_(a), in_(in), sink_(sink) {}

  /// The text; null, and errors in the sink, where the kernel was wrong before it was lowered. Throws InternalError
  /// where it was not.
  diag::SourcePtr text(const ir::Module& lowered) {
    diag::SourcePtr text = text_of(lowered);
    diag::Sink verdict;
    if (!verifier::verify(lowered, verdict)) {
      if (!verifier::verify(in_.module, sink_)) return nullptr;
      reject(*text, "the verifier", verdict);
    }
    sink_.append(std::move(verdict));
    judged_ = "verified";
    if (!a_.ptx_version.empty() && !(text = pinned(lowered))) return nullptr;
    if (!a_.no_ptxas && !assemble(text)) return nullptr;
    return text;
  }
  /// "verified, and assembled by ptxas 13.0.88"
  const std::string& judged() const { return judged_; }

 private:
  static diag::SourcePtr text_of(const ir::Module& module) {
    return std::make_shared<const diag::Source>("lowered.ptx", emit::emit_unverified(module));
  }

  // With the .version that the user wants; null, and what needs a later one in the sink. A right kernel may need one.
  diag::SourcePtr pinned(ir::Module lowered) {
    pin_ptx_version(lowered, a_.ptx_version);
    const diag::SourcePtr text = text_of(lowered);
    const bool takes_it = verifier::verify(parse::parse(text, sink_), sink_).has_value();
    return takes_it ? text : nullptr;
  }

  bool assemble(const diag::SourcePtr& text) {
    const harness::Ptxas ptxas = harness::find_ptxas();
    if (!ptxas.found()) {
      judged_ += "; not assembled: " + ptxas.missing;
      return true;
    }
    diag::Sink verdict;
    const isa::Target target = *isa::parse_target(a_.target);
    const harness::Assembly made = harness::assemble(ptxas, text, target, verdict);
    if (made.status == harness::Assembly::Status::failed) throw diag::InputError(made.reason + " (--no-ptxas)");
    if (made.status == harness::Assembly::Status::rejected) {
      if (const auto own = in_.module.target()) harness::assemble(ptxas, in_.text, *own, sink_);
      if (sink_.has_errors()) return false;
      reject(*text, "ptxas " + ptxas.version, verdict);
    }
    judged_ += fmt::format(", and assembled by ptxas {}", ptxas.version);
    for (const harness::EntryResources& e : made.entries)
      if (e.spills()) judged_ += fmt::format("; it spills {} bytes of registers in {}", e.spill_store_bytes, e.name);
    return true;
  }

  [[noreturn]] void reject(const diag::Source& text, const std::string& judge, const diag::Sink& verdict) const {
    const auto found = std::find_if(verdict.all().begin(), verdict.all().end(), [](const diag::Diagnostic& d) {
      return d.severity == diag::Severity::error || d.severity == diag::Severity::incomplete;
    });
    std::string what = found == verdict.all().end() ? "" : ": " + found->message;
    if (!what.empty() && !found->where.place.empty())
      what = fmt::format(": line {}{}", text.position(found->where.place.begin).line, what);
    std::string kept = "--keep-rejected FILE keeps the text";
    if (!a_.keep_rejected.empty()) {
      harness::write_file(a_.keep_rejected, text.text());
      kept = a_.keep_rejected + " has the text";
    }
    throw diag::InternalError(
        fmt::format("a defect of kiln lower: {} refuses what it made of this kernel, and nothing is written; {}{}",
                    judge, kept, what));
  }

  const LowerArguments& a_;
  const LowerInput& in_;
  diag::Sink& sink_;
  std::string judged_{};
};

int run_lower(const LowerArguments& a) {
  diag::Sink sink;
  const std::optional<LowerInput> in = input(a, sink);
  std::optional<lower::Lowered> out;
  diag::SourcePtr text;
  std::string judged;
  if (in) {
    if (!a.launch_out.empty() && !in->contract) throw diag::InputError("--launch-out needs --launch");
    out = lower::lower(in->module, options(a, *in), sink);
    if (out) {
      Acceptance acceptance(a, *in, sink);
      text = acceptance.text(out->module);
      judged = acceptance.judged();
    }
  }
  print_findings(sink);
  if (!text) {
    if (const std::string fits = strategy_that_fits(a, sink); !fits.empty())
      complain(fmt::format("note: {} fits with {}\n", a.kernel.name, fits));
    complain(fmt::format("{}\n", diag::summary(sink)));
    return diag::exit_code(sink);
  }
  for (const lower::Report& r : out->reports) complain(lower::sentence(r) + "\n");
  for (const std::string& name : out->left_out) complain(name + ": left out, since the contract does not launch it\n");
  complain(judged + "\n");
  if (!a.launch_out.empty()) harness::write_file(a.launch_out, harness::write_contract(out->contract));
  if (a.output.empty() || a.output == "-")
    print(text->text());
  else
    harness::write_file(a.output, text->text());
  return Exit::clean;
}

}  // namespace

void add_lower(const Builder& builder) {
  CLI::App* sub =
      builder.add("lower", "Rewrite a kernel with tcgen05 for a GPU that has none: mma.sync instead", lower_examples);
  auto a = std::make_shared<LowerArguments>();
  sub->add_option("FILE|KERNEL", a->kernel.name, "a PTX file, - for stdin, or a kernel as `kiln list` names it")
      ->required();
  sub->add_option("--target", a->target, "sm_90a, sm_120a or sm_89 [sm_90a]")
      ->check(one_of({"sm_90a", "sm_120a", "sm_89"}))
      ->type_name("sm_NNN");
  sub->add_option("--image", a->image, "where tensor memory is kept [auto: shared where it fits]")
      ->check(one_of({"auto", "shared", "global"}))
      ->type_name("shared|global");
  sub->add_option("--launch", a->launch, "the launch contract of a file")->type_name("L.json");
  sub->add_option("--launch-out", a->launch_out, "write the contract of the lowered kernel")->type_name("L2.json");
  sub->add_option("-o,--output", a->output, "file to write [stdout]; nothing that the verifier or ptxas refuses")
      ->type_name("FILE");
  add_ptx_version(*sub, a->ptx_version,
                  "the .version of the result [that of the input, or the target's where it is later]");
  sub->add_flag("--no-ptxas", a->no_ptxas, "do not assemble the result (ptxas is asked where it is found)");
  sub->add_option("--keep-rejected", a->keep_rejected, "where the result is refused: the text, to see why")
      ->type_name("FILE");
  add_kernel_sizes(*sub, a->kernel, builder);
  a->kernel.multiprocessors = [arguments = a.get()](const KernelChoice&) {
    return multiprocessors_of(usual_chip(isa::parse_target(arguments->target)));
  };
  sub->callback([a, &action = builder.action] { action = [a] { return run_lower(*a); }; });
}

}  // namespace kiln::command
