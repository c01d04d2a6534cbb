#include "dsl/atomics.hpp"

#include "dsl/operands.hpp"

namespace kiln::dsl {

namespace {

// exch knows bits, too; pairs of floats keep subnormal numbers.
std::string combined_as(RedOp op, ScalarType type) {
  const bool bits = is_bitwise(op) || op == RedOp::exch;
  const bool pair = type == ScalarType::f16x2 || type == ScalarType::bf16x2;
  const std::string_view untyped = isa::bits(type) == 64 ? "b64" : "b32";
  return dotted({spelling(op), pair ? "noftz" : "", bits ? untyped : spelling(type)});
}

}  // namespace

Operand Atomics::atom(Combination c, const AtomOrder& order, const Place& to, const Input& operand, Here at) {
  role_->accessed_memory(rec_->scope());
  return result(c.type, "atom" + order.modifier + dotted({"", to.space, combined_as(c.op, c.type)}),
                {Operand::address(to.address), use(*rec_, operand)}, at);
}

Operand Atomics::compare_and_swap(ScalarType type, const AtomOrder& order, const Place& to, const Input& expected,
                                  const Input& wanted, Here at) {
  role_->accessed_memory(rec_->scope());
  return result(type, "atom" + order.modifier + dotted({"", to.space, "cas", isa::bits(type) == 64 ? "b64" : "b32"}),
                {Operand::address(to.address), use(*rec_, expected), use(*rec_, wanted)}, at);
}

void Atomics::red(Combination c, const StoreOrder& order, const Place& to, const Input& operand, Here at) {
  role_->accessed_memory(rec_->scope());
  rec_->emit("red" + order.modifier + dotted({"", to.space, combined_as(c.op, c.type)}),
             {Operand::address(to.address), use(*rec_, operand)}, at);
}

void Atomics::add_vector(ScalarType type, const StoreOrder& order, const U64& address,
                         const std::vector<Operand>& values, Here at) {
  role_->accessed_memory(rec_->scope());
  require_feature(isa::Feature::hopper, at);
  const std::string_view width = values.size() == 2 ? "v2" : "v4";
  const bool pairs = isa::bits(type) == 16;
  std::vector<Operand> items;
  for (const Operand& v : values) items.push_back(in_register(*rec_, v, at));
  rec_->emit("red" + order.modifier + dotted({"", "global.add", pairs ? "noftz" : "", width, spelling(type)}) +
                 (pairs ? "x2" : ""),
             {address_of(*rec_, address, at), Operand::vector(std::move(items))}, at);
}

U32 Atomics::ld_global(const U64& address, const LoadOrder& order, Here at) {
  return {*rec_, result(ScalarType::u32, "ld" + order.modifier + ".global.u32", {address_of(*rec_, address, at)}, at)};
}

U32 Atomics::ld_global(const U64& address, Here at) {
  return {*rec_, result(ScalarType::u32, "ld.global.u32", {address_of(*rec_, address, at)}, at)};
}

void Atomics::st_global(const U64& address, OperandOf<U32> value, const StoreOrder& order, Here at) {
  role_->accessed_memory(rec_->scope());
  rec_->emit("st" + order.modifier + ".global.u32", {address_of(*rec_, address, at), operand_of(value)}, at);
}

}  // namespace kiln::dsl
