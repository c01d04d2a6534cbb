// What the modifiers and operands of a tcgen05 instruction say together, beyond the slots of forms.def.
#include <algorithm>

#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/rules/forms.hpp"
#include "ptx/rules/tcgen05_ld.hpp"
#include "verifier/finding.hpp"
#include "verifier/forms.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;
using Kind = ir::Argument::Kind;

std::string copy_clash(const isa::Modifiers& m) {
  using isa::DataShape, isa::CpMulticast;
  const bool pair = m.shape == DataShape::s64x128b, quad = m.shape == DataShape::s32x128b;
  const bool is_quad = m.cp_multicast == CpMulticast::warpx4;
  if ((pair || quad) != (m.cp_multicast != CpMulticast::none) ||
      (m.cp_multicast != CpMulticast::none && quad != is_quad))
    return "." + std::string(spelling(m.shape)) + " with " +
           (m.cp_multicast == CpMulticast::none ? "no multicast" : "." + std::string(spelling(m.cp_multicast)));
  const bool to = m.cp_destination_format != isa::CpDestinationFormat::none;
  return to == (m.cp_source_format != isa::CpSourceFormat::none) ? "" : "one format of two";
}

std::string scale_clash(const isa::Modifiers& m) {
  using isa::MmaKind, isa::ScaleVector;
  const bool scaled = isa::is_block_scaled(m.kind);
  const ScaleVector v = m.scale_vector;
  const std::string kind = "." + std::string(spelling(m.kind));
  if (scaled != m.block_scale) return kind + (scaled ? " without .block_scale" : " with .block_scale");
  const bool fits =
      m.kind == MmaKind::mxf8f6f4 ? v == ScaleVector::none || v == ScaleVector::x1 || v == ScaleVector::block32
      : m.kind == MmaKind::mxf4   ? v == ScaleVector::none || v == ScaleVector::x2 || v == ScaleVector::block32
      : scaled                    ? v != ScaleVector::none && v != ScaleVector::x1
                                  : v == ScaleVector::none;
  if (fits) return {};
  return kind + (v == ScaleVector::none ? " without a scale vector size" : " with ." + std::string(spelling(v)));
}

std::string ashift_clash(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  if (!m.ashift) return {};
  using isa::Collector;
  if (isa::is_block_scaled(m.kind)) return ".ashift on ." + std::string(spelling(m.kind));
  if (m.collector == Collector::a_fill || m.collector == Collector::a_use)
    return ".ashift with ." + std::string(spelling(m.collector));
  return op.arg(1).kind == Kind::address ? "" : ".ashift with A in shared memory";
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
  if (const std::size_t l = letters.find('l'); l != letters.npos) {
    const ir::Argument& lanes = op.arg(l);
    const std::uint32_t want = m.cta_group == isa::CtaGroup::two ? 8 : 4;
    if (judge(sink, rules::form_operands(lanes.count == want), {code, op, lanes.operand},
              std::to_string(lanes.count) + " lane masks"))
      return false;
  }
  if (!letters.ends_with('n') || m.kind == isa::MmaKind::i8) return true;
  const ir::Argument& scale = op.arguments.back();
  const auto value = scale.kind == Kind::immediate ? std::uint32_t(scale.value) : 32u;
  return !judge(sink, rules::form_operands(value <= 15), {code, op, scale.operand},
                "scale " + std::to_string(std::int32_t(value)));
}

}  // namespace

std::string tcgen05_clash(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  switch (op.opcode) {
    case Opcode::tcgen05_cp: return copy_clash(m);
    case Opcode::tcgen05_mma:
    case Opcode::tcgen05_mma_sp: {
      const std::string scale = scale_clash(m);
      return scale.empty() ? ashift_clash(op) : scale;
    }
    case Opcode::tcgen05_ld_red:
      if ((m.absolute || m.propagate_nan) && m.type() != isa::ScalarType::f32)
        return m.absolute ? ".abs on integers" : ".NaN on integers";
      return {};
    default: return {};
  }
}

bool tcgen05_takes(const ir::Operation& op, std::string_view letters) {
  const auto has = [&](char c) { return letters.find(c) != letters.npos; };
  switch (op.opcode) {
    case Opcode::tcgen05_ld:
    case Opcode::tcgen05_st:
    case Opcode::tcgen05_ld_red: return has('n') == (op.modifiers.shape == isa::DataShape::s16x32bx2);
    case Opcode::tcgen05_commit: return has('k') == op.modifiers.multicast;
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
