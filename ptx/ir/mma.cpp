#include "ptx/ir/mma.hpp"

namespace kiln::ir {
namespace {

using isa::Opcode;
using Kind = Argument::Kind;

// The operands after the instruction descriptor: scales or lane masks, enable-input-d, a scale or a mask. The
// undocumented second predicate that ptxas lets pass is stepped over.
void read_tail(const Operation& op, std::size_t at, MmaOperands& out) {
  const auto next = [&]() -> const Argument* { return at < op.arguments.size() ? &op.arguments[at++] : nullptr; };
  if (out.form.block_scale) {
    out.sfa = next();
    out.sfb = next();
    out.enable_input_d = next();
    return;
  }
  if (at < op.arguments.size() && op.arguments[at].kind == Kind::vector) out.lanes = next();
  out.enable_input_d = next();
  const Argument* last = next();
  if (last && at < op.arguments.size()) last = next();
  if (out.form.ws) out.zero_mask = last;
  else if (last && last->kind == Kind::immediate) out.scale_input_d = last;
}

}  // namespace

std::optional<MmaOperands> mma_operands(const Operation& op) {
  const bool sparse = op.opcode == Opcode::tcgen05_mma_sp || op.opcode == Opcode::tcgen05_mma_ws_sp;
  const bool ws = op.opcode == Opcode::tcgen05_mma_ws || op.opcode == Opcode::tcgen05_mma_ws_sp;
  if (!sparse && !ws && op.opcode != Opcode::tcgen05_mma) return std::nullopt;
  const std::size_t idesc = sparse ? 4 : 3;
  if (op.arguments.size() <= idesc + 1) return std::nullopt;
  const isa::Modifiers& m = op.modifiers;
  MmaOperands out{op.arguments[0], op.arguments[1], op.arguments[2], op.arguments[idesc]};
  out.form = {.kind = m.kind, .group = m.cta_group, .sparse = sparse, .ws = ws, .block_scale = m.block_scale,
              .scale_vector = m.scale_vector, .a_in_tmem = op.arguments[1].kind == Kind::address,
              .collector = m.collector, .ashift = m.ashift};
  if (sparse) out.metadata = &op.arguments[3];
  read_tail(op, idesc + 1, out);
  out.form.disable_output_lane = out.lanes != nullptr;
  out.form.scale_input_d = out.scale_input_d != nullptr;
  out.form.zero_column_mask = out.zero_mask != nullptr;
  return out;
}

}  // namespace kiln::ir
