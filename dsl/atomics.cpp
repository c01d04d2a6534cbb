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

void Atomics::wait_while(const U64& address, const U32& value, OperandOf<U32> bits, const LoadOrder& order, Here at) {
  const Operand from = address_of(*rec_, address, at), mask = operand_of(bits);
  const Operand unwanted = rec_->pure(ScalarType::b32, "and.b32", {use(*rec_, value, at), mask}, at);
  const std::string again = rec_->fresh_label("poll_" + role_->name);
  rec_->label(again);
  const Operand word = result(ScalarType::u32, "ld" + order.modifier + ".global.u32", {from}, at);
  const Operand found = rec_->fresh(ScalarType::b32), same = rec_->fresh(ScalarType::pred);
  rec_->emit("and.b32", {found, word, mask}, at);
  rec_->emit("setp.eq.u32", {same, found, unwanted}, at);
  rec_->emit_if(same, false, "bra", {target(again)}, at);
  role_->waited = true;
}

namespace {

// What ld and st write of an element: pairs of floats are bits to them, and so are floats of 16 bits.
std::string_view moved_as(ScalarType element) {
  if (isa::bits(element) == 16 && !isa::is_integer(element)) return "b16";
  const bool typed = isa::is_integer(element) || element == ScalarType::f32;
  return typed ? isa::spelling(element) : isa::bits(element) == 64 ? "b64" : "b32";
}
bool is_half(ScalarType element) { return element == ScalarType::f16 || element == ScalarType::bf16; }

}  // namespace

Operand Atomics::load(HeldElement e, const LoadOrder& order, const Place& from, const Pred* there,
                      const Input& otherwise, Here at) {
  const bool everywhere = !there || (there->is_constant() && there->constant());
  if (!everywhere && there->is_constant()) return use(*rec_, otherwise);
  role_->accessed_memory(rec_->scope());
  const bool half = is_half(e.element);
  const Operand reg = rec_->fresh(half ? ScalarType::b16 : e.kind);
  const std::string name = "ld" + order.modifier + dotted({"", from.space, moved_as(e.element)});
  const std::vector<Operand> operands{reg, Operand::address(from.address)};
  if (everywhere) {
    rec_->emit(name, operands, at);
  } else {
    const std::string move = half ? "mov.b16" : isa::bits(e.kind) == 64 ? "mov.b64" : "mov.b32";
    rec_->emit(move, {reg, half ? Operand::number(0) : use(*rec_, otherwise)}, at);
    rec_->emit_if(use(*rec_, *there, at), false, name, operands, at);
  }
  if (!half) return reg;
  const F32 wide(*rec_, result(ScalarType::f32, dotted({"cvt.f32", spelling(e.element)}), {reg}, at));
  return everywhere ? wide.operand() : selected(ScalarType::f32, *there, {&wide, 0, at}, otherwise);
}

void Atomics::store(HeldElement e, const StoreOrder& order, const Place& to, const Pred* there, const Input& value,
                    Here at) {
  if (there && there->is_constant() && !there->constant()) return;
  role_->accessed_memory(rec_->scope());
  Operand from = use(*rec_, value);
  if (is_half(e.element))
    from = rec_->pure(ScalarType::b16, dotted({"cvt.rn", spelling(e.element), "f32"}), {std::move(from)}, at);
  const std::string name = "st" + order.modifier + dotted({"", to.space, moved_as(e.element)});
  std::vector<Operand> operands{Operand::address(to.address), std::move(from)};
  if (there && !there->is_constant())
    rec_->emit_if(use(*rec_, *there, at), false, name, std::move(operands), at);
  else
    rec_->emit(name, std::move(operands), at);
}

}  // namespace kiln::dsl
