// A request to cancel may always fail, since there may be no cluster that has not started. So on a GPU without
// clusterlaunchcontrol each one fails: the grid has a cluster for every tile, and each cluster does its own.
#include "lower/launch_control.hpp"

namespace kiln::lower {
namespace {

using isa::Opcode;
using isa::Space;

// `to` = where an operand in the CTA's own shared memory lies.
void shared_address(Text& out, const std::string& to, const ir::Operation& op, std::size_t operand) {
  const ir::Operand& o = op.instruction->operands[operand];
  if (op.modifiers.space() != Space::generic) return move_to(out, to, o);
  const ir::Operand& base = o.items.at(0);
  out.line("{{");
  out.line(".reg .b64 %lw_h;");
  out.line("mov.b64 %lw_h, {};", text(base));
  if (base.value != 0) out.line("add.s64 %lw_h, %lw_h, {};", base.value);
  out.line("cvta.to.shared::cta.u64 %lw_h, %lw_h;");
  out.line("cvt.u32.u64 {}, %lw_h;", to);
  out.line("}}");
}

// Who waits for the mbarrier sees the zeros: st.async signals behind its store.
void refuse_in(Text& out, const char* answer, const char* mbarrier) {
  out.line(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [{}], {{%lw_z, %lw_z, %lw_z, %lw_z}}, [{}];",
      answer, mbarrier);
}

Text refused(const ir::Operation& op) {
  Text out;
  out.line(".reg .b32 %lw_z, %lw_x<5>;");
  out.line(".reg .pred %lw_p<1>;");
  shared_address(out, "%lw_x0", op, 0);
  shared_address(out, "%lw_x1", op, 1);
  out.line("mov.b32 %lw_z, 0;");
  if (!op.modifiers.multicast_all) {
    refuse_in(out, "%lw_x0", "%lw_x1");
    return out;
  }
  out.line("mov.u32 %lw_x2, %cluster_nctarank;");
  out.line("lw_each:");
  out.line("sub.u32 %lw_x2, %lw_x2, 1;");
  out.line("mapa.shared::cluster.u32 %lw_x3, %lw_x0, %lw_x2;");
  out.line("mapa.shared::cluster.u32 %lw_x4, %lw_x1, %lw_x2;");
  refuse_in(out, "%lw_x3", "%lw_x4");
  out.line("setp.ne.u32 %lw_p0, %lw_x2, 0;");
  out.line("@%lw_p0 bra lw_each;");
  return out;
}

// The first CTA of a cluster that was not cancelled is not defined.
void clear(Text& out, const ir::Operand& o) {
  if (o.kind == ir::Operand::Kind::sink) return;
  if (o.kind != ir::Operand::Kind::vector) return out.line("mov.b32 {}, 0;", text(o));
  for (const ir::Operand& item : o.items) clear(out, item);
}

Text queried(const ir::Operation& op) {
  Text out;
  const ir::Operand& to = op.instruction->operands[0];
  if (op.modifiers.type() == isa::ScalarType::pred)
    out.line("mov.pred {}, 0;", text(to));
  else
    clear(out, to);
  return out;
}

}  // namespace

Text without_launch_control(const ir::Operation& op) {
  return op.opcode == Opcode::clusterlaunchcontrol_try_cancel ? refused(op) : queried(op);
}

}  // namespace kiln::lower
