#include "verifier/finding.hpp"

#include <fmt/format.h>

#include "ptx/diag/repair.hpp"
#include "ptx/rules/finding.hpp"

namespace kiln::verifier {
namespace {

std::string origin(std::string_view reference) {
  if (reference.starts_with("Kiln:") || reference.starts_with("measured")) return std::string(reference);
  return "PTX ISA, \"" + std::string(reference) + "\"";
}

}  // namespace

diag::Diagnostic& broken(diag::Sink& sink, const rules::Verdict& v, diag::Where where, std::string got) {
  diag::Diagnostic d = rules::finding(v, got);
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

std::string line_of(const diag::Where& where) {
  if (where.line) return fmt::format("{}:{}", where.file, where.line);
  return fmt::format("line {}", where.source ? where.source->position(where.place.begin).line : 0);
}

}  // namespace kiln::verifier
