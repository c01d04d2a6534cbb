#include "verifier/barrier_object.hpp"

#include "ptx/ops/operations.hpp"

namespace kiln::verifier {

using flow::Origin;
using isa::Opcode;

std::optional<BarrierObject> barrier_object(const Facts& facts, const ir::Argument& address) {
  const Origin o = facts.origins.of(address);
  if (!o.is(Origin::Base::symbol) || !isa::is_shared(facts.code.symbols[o.id].variable->space)) return std::nullopt;
  return BarrierObject{o.id, o.added};
}

std::string name(const Facts& facts, const BarrierObject& object) {
  std::string name = "'" + facts.code.symbols[object.symbol].variable->name;
  if (object.offset.is_constant() && object.offset.one != 0)
    name += "+" + std::to_string(std::int64_t(object.offset.one));
  return name + "'";
}

const ir::Argument* barrier_operand(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::tcgen05_commit: return ops::roles<ops::Commit>(op).mbarrier.pointer();
    case Opcode::cp_async_bulk: return ops::roles<ops::BulkCopy>(op).mbarrier.pointer();
    case Opcode::cp_async_bulk_tensor: return ops::roles<ops::TensorCopy>(op).mbarrier.pointer();
    default: return ops::roles<ops::Mbarrier>(op).object.pointer();
  }
}

bool arrives(const ir::Operation& op) {
  return op.opcode == Opcode::mbarrier_arrive || op.opcode == Opcode::mbarrier_arrive_drop ||
         op.opcode == Opcode::tcgen05_commit || op.opcode == Opcode::cp_async_mbarrier_arrive;
}

bool waits(const ir::Operation& op) {
  return op.opcode == Opcode::mbarrier_try_wait || op.opcode == Opcode::mbarrier_test_wait;
}

bool expects_bytes(const ir::Operation& op) {
  const bool arrival = op.opcode == Opcode::mbarrier_arrive || op.opcode == Opcode::mbarrier_arrive_drop;
  return op.opcode == Opcode::mbarrier_expect_tx || (arrival && op.modifiers.expect_tx);
}

}  // namespace kiln::verifier
