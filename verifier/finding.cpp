#include "verifier/finding.hpp"

#include <cstdio>

#include "ptx/diag/repair.hpp"
#include "ptx/isa/swizzle.hpp"
#include "ptx/isa/types.hpp"
#include "ptx/rules/finding.hpp"

namespace kiln::verifier {
namespace {

using rules::Rule;

std::string hex(std::int64_t value) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string type_name(std::int64_t value) {
  const std::string_view text = isa::spelling(isa::ScalarType(value));
  return text.empty() ? "a type code that the kind does not define" : std::string(text);
}

// The number a verdict carries, in the words of its rule; empty where the number says nothing.
std::string print(const rules::Verdict& v) {
  switch (v.rule) {
    case Rule::mma_types:
    case Rule::mma_accumulator: return type_name(v.given);
    case Rule::sdesc_atom32: return "the " + std::string(isa::spelling(isa::Swizzle(v.given))) + " swizzle";
    case Rule::idesc_reserved: return v.given ? hex(v.given) : "a field that the kind does not have";
    case Rule::sdesc_fixed:
    case Rule::sdesc_alignment:
    case Rule::tma_alignment: return hex(v.given);
    case Rule::idesc_sparse:
      return v.given ? "a sparse descriptor on a dense MMA" : "a dense descriptor on a sparse MMA";
    case Rule::idesc_transpose: return "an MN-major operand";
    case Rule::target_tcgen05: return "sm_" + std::to_string(v.given);
    case Rule::alloc_budget:
    case Rule::tmem_range: return std::to_string(v.given) + " columns of " + std::to_string(v.nearest);
    case Rule::alloc_leak: return std::to_string(v.given) + " columns that are still allocated";
    case Rule::ld_quarter: return "lane " + std::to_string(v.given);
    case Rule::alloc_relinquished:
    case Rule::ld_wait:
    case Rule::fence_after:
    case Rule::mbarrier_uninitialised:
    case Rule::form_modifier:
    case Rule::form_operands:
    case Rule::cta_group_mixed:
    case Rule::deadlock:
    case Rule::race:
    case Rule::race_async:
    case Rule::race_tmem:
    case Rule::mbarrier_lapped:
    case Rule::proxy_fence:
    case Rule::proxy_fence_read:
    case Rule::tcgen05_fence:
    case Rule::sdesc_tile:
    case Rule::sdesc_advance: return {};
    default: return std::to_string(v.given);
  }
}

std::string origin(std::string_view reference) {
  if (reference.starts_with("Kiln:") || reference.starts_with("measured")) return std::string(reference);
  return "PTX ISA, \"" + std::string(reference) + "\"";
}

}  // namespace

diag::Diagnostic& broken(diag::Sink& sink, const rules::Verdict& v, diag::Where where, std::string got) {
  diag::Diagnostic d = rules::finding(v.rule, got.empty() ? print(v) : got);
  d.where = std::move(where);
  d.notes.push_back({"see " + origin(d.reference), {}});
  return sink.report(std::move(d));
}

diag::Diagnostic& broken(diag::Sink& sink, const rules::Verdict& v, const Subject& subject, std::string got) {
  const ir::Operand* operand = subject.operand;
  diag::Diagnostic& d =
      broken(sink, v, operand ? subject.code.where(subject.operation, *operand) : subject.code.where(subject.operation),
             std::move(got));
  if (v.has_nearest && operand && operand->is_integer() && subject.literal_is_value && !operand->at.empty())
    d.fixits.push_back({operand->at, std::to_string(v.nearest)});
  return d;
}

bool judge(diag::Sink& sink, const rules::Verdict& v, const Subject& subject, std::string got) {
  if (v.broken()) broken(sink, v, subject, std::move(got));
  return v.broken();
}

std::optional<diag::FixIt> insertion_before(const ir::Code& code, const ir::Operation& op, std::string_view statement) {
  if (!code.module->source || op.instruction->at.empty()) return std::nullopt;
  return diag::insert_before(*code.module->source, op.instruction->at, statement);
}

std::optional<diag::FixIt> insertion_behind(const ir::Code& code, const ir::Operation& op, std::string_view statement) {
  if (!code.module->source || op.instruction->at.empty()) return std::nullopt;
  return diag::insert_behind(*code.module->source, op.instruction->at, statement);
}

diag::Diagnostic& incomplete(diag::Sink& sink, diag::Where where, const std::string& what, rules::Limit limit) {
  diag::Diagnostic d = rules::finding(limit, what);
  d.where = std::move(where);
  return sink.report(std::move(d));
}

}  // namespace kiln::verifier
