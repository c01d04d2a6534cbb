// What versions of ptxas make of forms that PTX has. ptxas_versions.def is the table.
#include <algorithm>

#include "ptx/isa/ptx_versions.hpp"
#include "ptx/isa/ptxas_version.hpp"
#include "ptx/ops/features.hpp"
#include "ptx/ops/meaning.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/rules/ptxas.hpp"
#include "verifier/checks/forms.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using isa::PtxasRange, isa::PtxasVersion, isa::PtxVersion;
using Kind = ir::Argument::Kind;

bool any(const ir::Code&, const ir::Operation&) { return true; }

bool before_hopper(const ir::Code& code, const ir::Operation&) {
  const auto target = code.module->target();
  return target && !isa::has_clusters(*target);
}

bool writes_twice(const ir::Code& code, const ir::Operation& op) {
  std::vector<ir::RegisterId> written = code.written(op);
  std::sort(written.begin(), written.end());
  return std::adjacent_find(written.begin(), written.end()) != written.end();
}

// The CTAs of a multicast, when a number says which.
const ir::Argument* constant_ctas(const ir::Operation& op) {
  ops::Operand ctas;
  if (const auto commit = ops::as<ops::Commit>(op)) ctas = commit->ctas;
  if (const auto copy = ops::as<ops::BulkCopy>(op)) ctas = copy->ctas;
  if (const auto copy = ops::as<ops::TensorCopy>(op)) ctas = copy->ctas;
  return ctas->kind == Kind::immediate ? ctas.pointer() : nullptr;
}

bool constant_mask(const ir::Code&, const ir::Operation& op) { return constant_ctas(op) != nullptr; }

bool wide_mask(const ir::Code&, const ir::Operation& op) {
  const ir::Argument* ctas = constant_ctas(op);
  return ctas && (ctas->value < 0 || ctas->value > 0xffff);
}

// Of the last operand, or of all elements of it: beside a register of .b32, ptxas takes them.
bool number_or_float(const ir::Code& code, const ir::Operation& op) {
  const auto is_one = [&](const ir::Argument& a) {
    return a.kind == Kind::immediate || a.kind == Kind::real ||
           (a.kind == Kind::reg && code.registers[a.id].type == isa::ScalarType::f32);
  };
  const ir::Argument& a = op.arguments.back();
  const auto parts = code.components(a);
  return a.kind == Kind::vector ? std::all_of(parts.begin(), parts.end(), is_one) : is_one(a);
}

bool special_address(const ir::Code& code, const ir::Operation& op) {
  return std::any_of(op.arguments.begin(), op.arguments.end(), [&](const ir::Argument& a) {
    return a.kind == Kind::address && a.count == 1 && code.components(a)[0].kind == Kind::special;
  });
}

enum class Does : std::uint8_t { refuses, crashes };

// A row of the table.
struct PtxasRow {
  isa::Opcode opcode;
  std::string_view modifiers;
  bool (*operands)(const ir::Code&, const ir::Operation&);
  PtxVersion below;  // 0.0: any
  Does does;
  PtxasRange versions;
  std::string_view what;
};

constexpr PtxasRow ptxas_rows[] = {
#define PTXAS(opcode, modifiers, operands, below, does, first, last, what) \
  {isa::Opcode::opcode, modifiers, operands, below, Does::does, {{13, first}, {13, last}}, what},
#include "verifier/checks/ptxas_versions.def"
#undef PTXAS
};

// Few instructions have a row.
bool has_rows(isa::Opcode opcode) {
  static const auto opcodes = [] {
    std::vector<bool> out;
    for (const PtxasRow& row : ptxas_rows) {
      out.resize(std::max(out.size(), std::size_t(row.opcode) + 1));
      out[std::size_t(row.opcode)] = true;
    }
    return out;
  }();
  return std::size_t(opcode) < opcodes.size() && opcodes[std::size_t(opcode)];
}

bool has_modifiers(const ir::Operation& op, std::string_view wanted) {
  const std::vector<std::string>& written = op.instruction->modifiers;
  while (!wanted.empty()) {
    const std::size_t end = std::min(wanted.find(' '), wanted.size());
    std::string_view word = wanted.substr(0, end);
    wanted.remove_prefix(std::min(end + 1, wanted.size()));
    const bool without = word.starts_with('!');
    if (without) word.remove_prefix(1);
    if ((std::find(written.begin(), written.end(), word) != written.end()) == without) return false;
  }
  return true;
}

bool has_version(const PtxasRow& row, const ir::Module& module) {
  return row.below == PtxVersion{} || module.version < row.below;
}

bool is_about(const PtxasRow& row, const ir::Code& code, const ir::Operation& op) {
  return row.opcode == op.opcode && has_modifiers(op, row.modifiers) && row.operands(code, op);
}

std::string ptxas(PtxasVersion v) { return "ptxas " + spelling(v); }

// "ptxas 13.1 and later"
std::string versions_of(const PtxasRange& r) {
  if (r.first == r.last) return ptxas(r.first);
  return ptxas(r.first) + (r.last == isa::newest_ptxas ? " and later" : " to " + isa::spelling(r.last));
}

std::string needs(PtxVersion v) {
  const auto first = isa::oldest_ptxas_for(v);
  return ", which needs " + (first ? ptxas(*first) : "a ptxas later than " + isa::spelling(isa::newest_ptxas));
}

std::string what_of(const PtxasRow& row) {
  return std::string(row.what) +
         (row.below == PtxVersion{} ? "" : " with a .version below " + isa::spelling(row.below));
}

// What is wrong with an instruction that a row is about, after what it has.
std::string trouble(const PtxasRow& row, std::optional<PtxasVersion> asked) {
  const bool is_one = row.versions.first == row.versions.last;
  if (row.does == Does::crashes)
    return ", at which " + versions_of(row.versions) + (is_one ? " ends" : " end") + " with an internal error";
  const bool is_later = asked && row.versions.last < isa::newest_ptxas;
  if (is_later) return ", which needs " + ptxas({13, row.versions.last.minor + 1});
  return ", which " + versions_of(row.versions) + (is_one ? " refuses" : " refuse");
}

rules::Verdict verdict_of(const PtxasRow& row, std::optional<PtxasVersion> asked) {
  if (asked) return rules::ptxas_takes(row.versions, *asked);
  return row.does == Does::crashes ? rules::ptxas_crash(row.versions) : rules::ptxas_withdrawn(row.versions);
}

// What the target and the .version have, and the version of ptxas does not know.
bool check_features(const ir::Code& code, const ir::Operation& op, PtxasVersion asked, diag::Sink& sink) {
  for (const isa::Feature f : ops::features(code, op)) {
    const PtxVersion needed = isa::lowest_version(f);
    const bool has_it = code.module->version >= needed;  // where not, that is what is wrong
    if (has_it &&
        judge(sink, rules::ptxas_knows(needed, asked), {code, op}, std::string(isa::spelling(f)) + needs(needed)))
      return false;
  }
  return true;
}

}  // namespace

void check_ptxas_versions(const ir::Code& code, const std::vector<bool>& malformed, std::optional<PtxasVersion> asked,
                          diag::Sink& sink) {
  for (std::size_t i = 0; i < code.operations.size(); ++i) {
    const ir::Operation& op = code.operations[i];
    if (!asked && !has_rows(op.opcode)) continue;
    // What has no model is marked too, and its form is right.
    const bool has_form = !malformed[i] || !ops::without_model(op).empty();
    if (!has_form || (asked && !check_features(code, op, *asked, sink))) continue;
    for (const PtxasRow& row : ptxas_rows)
      if (has_version(row, *code.module) && is_about(row, code, op) &&
          judge(sink, verdict_of(row, asked), {code, op}, what_of(row) + trouble(row, asked)))
        break;
  }
}

std::optional<NewerForm> form_of_newer_version(const ir::Code& code, const ir::Operation& op) {
  for (const PtxasRow& row : ptxas_rows)
    if (row.below != PtxVersion{} && is_about(row, code, op)) return NewerForm{row.below, row.what};
  return std::nullopt;
}

void check_ptxas_version(const ir::Module& module, PtxasVersion asked, diag::Sink& sink) {
  const auto check = [&](PtxVersion needed, diag::Place at, const std::string& what) {
    const rules::Verdict v = rules::ptxas_knows(needed, asked);
    if (v.broken()) broken(sink, v, diag::Where::at(module.source, at), what + needs(needed));
  };
  const PtxVersion v = module.version;
  check(v, module.version_at, ".version " + isa::spelling(v));
  if (const auto target = module.target(); target && isa::is_known(*target))
    check(isa::lowest_version(*target), module.target_at, ".target " + isa::spelling(*target));
}

}  // namespace kiln::verifier
