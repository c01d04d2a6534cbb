#include "dsl/exchange.hpp"

#include "dsl/operands.hpp"

namespace kiln::dsl {

U32 Exchange::lane(Here at) const {
  return {*rec_, rec_->pure(ScalarType::b32, "and.b32", {role_->thread, Operand::number(31)}, at)};
}

// The control operand: the lanes' common bits above a group in its upper half, the last lane of a group in the lower.
Operand Exchange::shuffle_word(std::string_view mode, int width, ScalarType type, const Operand& value,
                               const Operand& lane, Here at) {
  constexpr int warp_lanes = 32;
  const int last = mode == "up" ? 0 : warp_lanes - 1;
  return result(type, dotted({"shfl.sync", mode, "b32"}),
                {in_register(*rec_, value, at), lane, Operand::number((warp_lanes - width) << 8 | last), whole_warp()},
                at);
}

Operand Exchange::shuffle(std::string_view mode, int width, ScalarType type, const Input& value, const Input& lane,
                          Here at) {
  const Operand mine = use(*rec_, value), from = use(*rec_, lane);
  if (isa::bits(type) == 32) return shuffle_word(mode, width, type, mine, from, at);
  const Operand low = rec_->fresh(ScalarType::b32), high = rec_->fresh(ScalarType::b32);
  rec_->emit("mov.b64", {Operand::vector({low, high}), mine}, at);
  const Operand theirs_low = shuffle_word(mode, width, ScalarType::b32, low, from, at),
                theirs_high = shuffle_word(mode, width, ScalarType::b32, high, from, at);
  return result(ScalarType::b64, "mov.b64", {Operand::vector({theirs_low, theirs_high})}, at);
}

// A constant answers without the others.
Pred Exchange::vote(std::string_view mode, const Pred& p, Here at) {
  if (p.is_constant()) return mode == "uni" ? Pred(*rec_, Operand::number(1)) : p;
  return {*rec_, result(ScalarType::pred, dotted({"vote.sync", mode, "pred"}), {use(*rec_, p, at), whole_warp()}, at)};
}

U32 Exchange::vote_sync_ballot(const Pred& p, Here at) {
  if (p.is_constant()) return {*rec_, Operand::number(p.constant() ? 0xffffffffu : 0u)};
  return {*rec_, result(ScalarType::b32, "vote.sync.ballot.b32", {use(*rec_, p, at), whole_warp()}, at)};
}

Operand Exchange::redux(RedOp op, ScalarType type, const Input& value, Here at) {
  if (type == ScalarType::f32) require_feature(isa::Feature::redux_f32, at);
  return result(type, dotted({"redux.sync", spelling(op), is_bitwise(op) ? "b32" : spelling(type)}),
                {in_register(*rec_, use(*rec_, value), at), whole_warp()}, at);
}

Operand Exchange::reduce(RedOp op, ScalarType type, const Input& value, Here at) {
  const bool float_extremum = type == ScalarType::f32 && op != RedOp::add;
  if (isa::is_integer(type) || (float_extremum && isa::has(isa::Feature::redux_f32, role_->kernel->target)))
    return redux(op, type, value, at);
  Operand sum = use(*rec_, value);
  for (int distance = 1; distance < 32; distance *= 2) {
    const F32 mine(*rec_, sum);
    const Operand other = shuffle("bfly", 32, type, {&mine, 0, at}, {nullptr, distance, at}, at);
    sum = result(type, combining(op, type), {sum, other}, at);
  }
  return sum;
}

}  // namespace kiln::dsl
