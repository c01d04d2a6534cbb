#include "tools/command/lint.hpp"

#include <fmt/format.h>

#include "launch/limits.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/finding.hpp"
#include "tools/command/report/console.hpp"
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

// How an entry is launched, as far as that is known: nothing when nothing says how many threads a CTA has.
std::vector<launch::Launch> launches_of(const ir::Function& f, const launch::Contract* contract,
                                        const verifier::LaunchFacts& facts) {
  std::vector<launch::Launch> out;
  if (contract)
    for (const launch::Launch& l : contract->launches)
      if (f.name.find(l.entry) != std::string::npos) out.push_back(l);
  if (!out.empty()) return out;
  std::optional<launch::Dim3> cta = largest_cta(f);
  if (facts.block[0] && !f.find("reqntid")) cta = {facts.block[0], facts.block[1], facts.block[2]};
  if (!cta) return out;
  launch::Launch& l = out.emplace_back();
  l.block = *cta;
  l.dynamic_smem = facts.dynamic_shared.value_or(0);
  return out;
}

void lint_occupancy(const ir::Module& module, const ir::Function& f, const harness::EntryResources& entry,
                    isa::Target target, const launch::Launch& l, diag::Sink& sink) {
  const std::uint64_t shared = entry.shared_bytes + std::uint64_t(l.dynamic_smem);
  const std::uint32_t ctas = launch::residents(l, {shared, std::uint32_t(entry.registers)}, target);
  const rules::Verdict v = rules::occupancy(ctas);
  if (!v.broken()) return;
  std::string got =
      fmt::format("{} for {} threads of {} registers, {} bytes of stack, {} bytes of static shared memory", ctas,
                  l.block.volume(), entry.registers, entry.stack_bytes, entry.shared_bytes);
  if (l.dynamic_smem) got += fmt::format(" and {} of dynamic", l.dynamic_smem);
  diag::Diagnostic d = rules::finding(v.rule, got);
  d.where = diag::Where::at(module.source, f.name_at);
  sink.report(std::move(d));
}

void lint_entry(const ir::Module& module, const ir::Function& f, const harness::EntryResources& entry,
                isa::Target target, const std::vector<launch::Launch>& launches, diag::Sink& sink) {
  const diag::Where at = diag::Where::at(module.source, f.name_at);
  const rules::Verdict spills = rules::register_spills(entry.spill_store_bytes + entry.spill_load_bytes);
  if (spills.broken())
    verifier::broken(sink, spills, at,
                     fmt::format("{} bytes of stores and {} of loads in {} registers", entry.spill_store_bytes,
                                 entry.spill_load_bytes, entry.registers));
  for (const launch::Launch& l : launches) lint_occupancy(module, f, entry, target, l, sink);
}

}  // namespace

Lint::Lint(const ir::Module& module, diag::Sink& sink) : module_(module) {
  verifier::check_lints(module, sink);
  const auto target = module.target();
  if (!target || !module.source) return;
  made_ = std::async(std::launch::async, [source = module.source, target = *target] {
    diag::Sink said;  // a judgement on the text, which is the verifier's business here
    return harness::assemble(harness::find_ptxas(), source, target, said);
  });
}

void Lint::finish(diag::Sink& sink, const launch::Contract* contract, const verifier::LaunchFacts& facts) {
  if (!made_.valid()) return;
  const harness::Assembly made = made_.get();
  if (made.status != harness::Assembly::Status::assembled) {
    complain(fmt::format("{}: registers and occupancy are left out: {}\n", module_.source->name(),
                         made.reason.empty() ? "ptxas refuses the text" : made.reason));
    return;
  }
  for (const harness::EntryResources& entry : made.entries)
    if (const ir::Function* f = module_.find_function(entry.name))
      lint_entry(module_, *f, entry, *module_.target(), launches_of(*f, contract, facts), sink);
  sink.sort();
}

}  // namespace kiln::command
