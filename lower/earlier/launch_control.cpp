// A request to cancel may always fail, since there may be no cluster that has not started. So on a GPU without
// clusterlaunchcontrol each one fails: the grid has a cluster for every tile, and each cluster does its own.
#include "ptx/isa/launch_control.hpp"
#include "lower/earlier/forms.hpp"

namespace kiln::lower {
namespace {

using isa::Opcode;

// Where an operand in the CTA's own shared memory lies.
Register shared_address(Builder& b, const ir::Operation& op, std::size_t operand) {
  const ir::Operand& o = op.instruction->operands[operand];
  return op.modifiers.space() == isa::Space::generic ? to_shared(b, o, "shared::cta") : word_of(b, o);
}

// A thread that waits for the mbarrier sees the zeros: the fence orders them before the bytes count. One st.async would
// do, but an H200 has it in a cluster only: in a grid that is launched without clusters it is an illegal instruction.
void refuse_in(Builder& b, Register answer, Register mbarrier, Register zero) {
  b.op("st.shared::cluster.v4.b32", at(answer), vec(zero, zero, zero, zero));
  b.op("fence.acq_rel.cluster");
  b.op("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64", at(mbarrier), isa::cancel_answer_bytes);
}

void refuse(Builder& b, const ir::Operation& op) {
  const Register answer = shared_address(b, op, 0), mbarrier = shared_address(b, op, 1);
  const Register zero = b.b32("mov.b32", 0);
  if (!op.modifiers.multicast_all) return refuse_in(b, answer, mbarrier, zero);
  const Register cta = b.b32("mov.u32", "%cluster_nctarank");
  b.loop([&] {
    b.op("sub.u32", cta, cta, 1);
    const Register there = b.b32("mapa.shared::cluster.u32", answer, cta);
    refuse_in(b, there, b.b32("mapa.shared::cluster.u32", mbarrier, cta), zero);
    return b.pred("setp.ne.u32", cta, 0);
  });
}

// The first CTA of a cluster that was not cancelled is not defined.
void clear(Builder& b, const ir::Operand& o) {
  if (o.kind == ir::Operand::Kind::sink) return;
  if (o.kind != ir::Operand::Kind::vector) return b.op("mov.b32", without_offset(o), 0);
  for (const ir::Operand& item : o.items) clear(b, item);
}

void query(Builder& b, const ir::Operation& op) {
  const ir::Operand& to = op.instruction->operands[0];
  if (op.modifiers.type() == isa::ScalarType::pred)
    b.op("mov.pred", without_offset(to), 0);
  else
    clear(b, to);
}

}  // namespace

void write_without_launch_control(Builder& b, const ir::Operation& op) {
  if (op.opcode == Opcode::clusterlaunchcontrol_try_cancel)
    refuse(b, op);
  else
    query(b, op);
}

}  // namespace kiln::lower
