#include "tools/command/lint.hpp"

#include <fmt/format.h>

#include "harness/ptxas.hpp"
#include "launch/limits.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/finding.hpp"
#include "tools/command/console.hpp"
#include "verifier/finding.hpp"
#include "verifier/lints.hpp"

namespace kiln::command {
namespace {

// The CTA that the kernel is launched with, or is at most; nothing when it does not say.
std::optional<launch::Dim3> largest_cta(const ir::Function& f) {
  for (const char* name : {"reqntid", "maxntid"})
    if (const ir::Performance* p = f.find(name); p && !p->values.empty()) {
      launch::Dim3 d{1, 1, 1};
      std::uint32_t* extents[] = {&d.x, &d.y, &d.z};
      for (std::size_t i = 0; i < p->values.size() && i < 3; ++i) *extents[i] = std::uint32_t(p->values[i]);
      return d.volume() > 0 ? std::optional(d) : std::nullopt;
    }
  return std::nullopt;
}

void lint_entry(const ir::Module& module, const ir::Function& f, const harness::EntryResources& entry,
                isa::Target target, diag::Sink& sink) {
  const diag::Where at = diag::Where::at(module.source, f.name_at);
  const rules::Verdict spills = rules::register_spills(entry.spill_store_bytes + entry.spill_load_bytes);
  if (spills.broken())
    verifier::broken(sink, spills, at,
                     fmt::format("{} bytes of stores and {} of loads in {} registers", entry.spill_store_bytes,
                                 entry.spill_load_bytes, entry.registers));
  launch::Launch l;
  const auto cta = largest_cta(f);
  if (!cta) return;
  l.block = *cta;
  const std::uint32_t ctas = launch::residents(l, {entry.shared_bytes, std::uint32_t(entry.registers)}, target);
  const rules::Verdict v = rules::occupancy(ctas);
  if (!v.broken()) return;
  diag::Diagnostic d = rules::finding(
      v.rule, fmt::format("{} for {} threads of {} registers, {} bytes of stack, {} bytes of static shared memory",
                          ctas, cta->volume(), entry.registers, entry.stack_bytes, entry.shared_bytes));
  d.where = at;
  sink.report(std::move(d));
}

}  // namespace

void lint(const ir::Module& module, diag::Sink& sink) {
  verifier::check_lints(module, sink);
  const auto target = module.target();
  if (!target || !module.source) return;
  diag::Sink said;  // a judgement on the text, which is the verifier's business here
  const harness::Assembly made = harness::assemble(harness::find_ptxas(), module.source, *target, said);
  if (made.status != harness::Assembly::Status::assembled) {
    complain(fmt::format("{}: registers and occupancy are left out: {}\n", module.source->name(),
                         made.reason.empty() ? "ptxas refuses the text" : made.reason));
    return;
  }
  for (const harness::EntryResources& entry : made.entries)
    if (const ir::Function* f = module.find_function(entry.name)) lint_entry(module, *f, entry, *target, sink);
  sink.sort();
}

}  // namespace kiln::command
