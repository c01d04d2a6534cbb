// What the modifiers and operands of a tcgen05 instruction say together, beyond the slots of forms.def.
#include <algorithm>

#include "ptx/ops/operations.hpp"
#include "ptx/rules/forms.hpp"
#include "ptx/rules/tcgen05_form.hpp"
#include "ptx/rules/tcgen05_ld.hpp"
#include "verifier/checks/forms.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;
using Kind = ir::Argument::Kind;

std::string dotted(std::string_view modifier) { return "." + std::string(modifier); }

// What a rule that broke found in the modifiers of an MMA.
std::string mma_got(const isa::MmaForm& f, rules::Rule rule) {
  const std::string kind = dotted(spelling(f.kind));
  switch (rule) {
    case rules::Rule::block_scale: return kind + (f.block_scale ? " with .block_scale" : " without .block_scale");
    case rules::Rule::scale_vector:
      return kind + (f.scale_vector == isa::ScaleVector::none ? " without a scale vector size"
                                                              : " with " + dotted(spelling(f.scale_vector)));
    case rules::Rule::ashift:
      return f.block_scale ? ".ashift on " + kind : f.ws ? ".ashift with .ws" : ".ashift with A in shared memory";
    case rules::Rule::ashift_collector: return ".ashift with " + dotted(spelling(f.collector));
    case rules::Rule::collector_buffer:
      if (f.collector_b != isa::CollectorB::none)
        return dotted(spelling(f.collector_b)) + (f.ws ? " with .ws" : " on " + kind);
      return dotted(spelling(f.collector)) + (f.ws ? " with .ws" : " without .ws");
    case rules::Rule::ws_cta_group: return ".ws with .cta_group::2";
    case rules::Rule::ws_kind: return ".ws with " + kind;
    case rules::Rule::scale_input_d: return "a scale on " + kind;
    default: return {};
  }
}

bool check_mma_modifiers(const ir::Code& code, const ir::Operation& op, const ops::Mma& mma, rules::Profile profile,
                         diag::Sink& sink) {
  const isa::MmaForm& f = mma.form;
  const rules::Verdict v = rules::mma_form(f, profile);
  if (judge(sink, v, {code, op}, mma_got(f, v.rule))) return false;
  return !mma.lanes || !judge(sink, rules::output_lanes(f, mma.lanes->count), {code, op, mma.lanes->operand, false},
                              std::to_string(mma.lanes->count) + " lane masks");
}

bool check_copy_modifiers(const ir::Code& code, const ir::Operation& op, diag::Sink& sink) {
  const isa::Modifiers& m = op.modifiers;
  const bool to = m.cp_destination_format != isa::CpDestinationFormat::none;
  const bool from = m.cp_source_format != isa::CpSourceFormat::none;
  const std::string multicast =
      m.cp_multicast == isa::CpMulticast::none ? "no multicast" : dotted(spelling(m.cp_multicast));
  return !judge(sink, rules::cp_shape(m.shape, m.cp_multicast, to, from), {code, op},
                to != from ? "one format of two" : dotted(spelling(m.shape)) + " with " + multicast);
}

bool check_reduction_modifiers(const ir::Code& code, const ir::Operation& op, diag::Sink& sink) {
  const isa::Modifiers& m = op.modifiers;
  const int repeat = isa::repeat_count(m.repeat);
  const bool shaped = m.shape == isa::DataShape::s32x32b || m.shape == isa::DataShape::s16x32bx2;
  return !judge(sink, rules::ld_reduction(m.shape, repeat, m.type(), m.absolute, m.propagate_nan), {code, op},
                !shaped      ? dotted(spelling(m.shape))
                : repeat < 2 ? "one value"
                             : m.absolute ? ".abs on integers" : ".NaN on integers");
}

// The undocumented second predicate of kind::f16 and tf32 comes with a scale alone, that of i8 with and without. Sparse
// i8 takes a scale only when there are neither lanes nor a second predicate. The first may then not be a number.
bool mma_takes(const ir::Operation& op, std::string_view letters) {
  using isa::MmaKind;
  const isa::Modifiers& m = op.modifiers;
  const bool scaled = isa::is_block_scaled(m.kind);
  const bool block = letters.ends_with("ddp"), scale = letters.ends_with('n');
  const bool second = letters.find("pp") != letters.npos;
  if (scaled) return block;
  if (block || (second && op.arg(letters.find("pp")).kind != Kind::reg)) return false;
  switch (m.kind) {
    case MmaKind::f16:
    case MmaKind::tf32: return !second || scale;
    case MmaKind::i8:
      return op.opcode == Opcode::tcgen05_mma || !scale || (!second && letters.find('l') == letters.npos);
    default: return !second && !scale;
  }
}

bool check_vector(const ir::Code& code, const ir::Operation& op, std::string_view letters, diag::Sink& sink) {
  const isa::Modifiers& m = op.modifiers;
  const ir::Argument& vector = op.arg(std::min(letters.find('v'), letters.find('w')));
  const int repeat = isa::repeat_count(m.repeat);
  if (judge(sink, rules::ld_repeat(m.shape, repeat), {code, op})) return false;
  return !judge(sink, rules::ld_registers(m.shape, repeat, int(vector.count)), {code, op, vector.operand},
                std::to_string(vector.count) + (vector.count == 1 ? " register" : " registers"));
}

bool check_mma_values(const ir::Code& code, const ir::Operation& op, std::string_view letters, diag::Sink& sink) {
  const isa::Modifiers& m = op.modifiers;
  if (!letters.ends_with('n') || m.kind == isa::MmaKind::i8) return true;
  const ir::Argument& scale = op.arguments.back();
  if (scale.kind != Kind::immediate) return true;
  const auto value = std::int32_t(std::uint32_t(scale.value));  // ptxas drops the upper half
  return !judge(sink, rules::scale_input_d_value(value), {code, op, scale.operand}, std::to_string(value));
}

}  // namespace

bool check_tcgen05_modifiers(const ir::Code& code, const ir::Operation& op, rules::Profile profile, diag::Sink& sink) {
  if (op.opcode == Opcode::tcgen05_cp) return check_copy_modifiers(code, op, sink);
  if (op.opcode == Opcode::tcgen05_ld_red) return check_reduction_modifiers(code, op, sink);
  const auto mma = ops::as<ops::Mma>(op);
  return !mma || check_mma_modifiers(code, op, *mma, profile, sink);
}

bool tcgen05_takes(const ir::Operation& op, std::string_view letters) {
  const auto has = [&](char c) { return letters.find(c) != letters.npos; };
  switch (op.opcode) {
    case Opcode::tcgen05_ld:
    case Opcode::tcgen05_st:
    case Opcode::tcgen05_ld_red: return has('n') == (op.modifiers.shape == isa::DataShape::s16x32bx2);
    case Opcode::tcgen05_mma:
    case Opcode::tcgen05_mma_sp: return mma_takes(op, letters);
    default: return true;
  }
}

bool check_tcgen05_values(const ir::Code& code, const ir::Operation& op, std::string_view letters, diag::Sink& sink) {
  switch (op.opcode) {
    case Opcode::tcgen05_ld:
    case Opcode::tcgen05_st:
    case Opcode::tcgen05_ld_red: return check_vector(code, op, letters, sink);
    case Opcode::tcgen05_mma:
    case Opcode::tcgen05_mma_sp: return check_mma_values(code, op, letters, sink);
    default: return true;
  }
}

}  // namespace kiln::verifier
