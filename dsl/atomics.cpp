#include "dsl/atomics.hpp"

#include "dsl/operands.hpp"

namespace kiln::dsl {

namespace {

// and, or and xor know bits, not numbers.
std::string_view word_type(RedOp op) {
  return op == RedOp::and_ || op == RedOp::or_ || op == RedOp::xor_ ? "b32" : "u32";
}

}  // namespace

U32 Atomics::atom(RedOp op, const U64& address, const OperandOf<U32>& operand, const AtomOrder& order, Here at) {
  const std::string name = "atom" + order.modifier + dotted({"", "global", spelling(op), word_type(op)});
  return {*rec_, result(ScalarType::u32, name, {address_of(*rec_, address, at), operand_of(operand)}, at)};
}

U32 Atomics::ld_global(const U64& address, const LoadOrder& order, Here at) {
  return {*rec_, result(ScalarType::u32, "ld" + order.modifier + ".global.u32", {address_of(*rec_, address, at)}, at)};
}

U32 Atomics::ld_global(const U64& address, Here at) {
  return {*rec_, result(ScalarType::u32, "ld.global.u32", {address_of(*rec_, address, at)}, at)};
}

void Atomics::st_global(const U64& address, OperandOf<U32> value, const StoreOrder& order, Here at) {
  rec_->emit("st" + order.modifier + ".global.u32", {address_of(*rec_, address, at), operand_of(value)}, at);
}

}  // namespace kiln::dsl
