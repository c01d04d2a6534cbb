// What the lanes of a warp tell each other: shuffles, votes, reductions. All lanes execute these together, so only
// whole warps have them. PTX ISA "shfl.sync", "vote.sync", "redux.sync".
#pragma once

#include "dsl/scope.hpp"

namespace kiln::dsl {

/// Whether a reduction combines values of a type so: integers by add, min, max and bits, floats by add, min and max.
constexpr bool reduces(RedOp op, ScalarType type) {
  const bool number = op == RedOp::add || op == RedOp::min || op == RedOp::max;
  if (type == ScalarType::u32 || type == ScalarType::s32) return number || is_bitwise(op);
  return type == ScalarType::f32 && number;
}

/// Whether something is a value that a reduction combines so, or one that a shuffle moves.
template <RedOp op, class X>
concept is_reduced = HasKind<X> && reduces(op, kind_of<X>::scalar);
template <class X>
concept is_shuffled = HasKind<X> && (isa::bits(kind_of<X>::scalar) == 32 || isa::bits(kind_of<X>::scalar) == 64);

/// A warp whose lanes tell each other what they have.
class Exchange : public Scope {
 public:
  using Scope::Scope;

  /// Index of this thread in its warp.
  U32 lane(Here at = {}) const;

  // Shuffles of a value of 32 bits, or of 64 by two instructions, within groups of `width` lanes. PTX ISA "shfl.sync"
  /// What the lane with the index `lane ^ mask` has: every lane gets one.
  template <int width = 32, class X>
    requires(is_shuffled<X>)
  kind_of<X> shfl_sync_bfly(const X& value, OperandOf<U32> mask, Here at = {}) {
    return shuffled<width, X>("bfly", value, mask, at);
  }
  /// What the lane with that index in the group has.
  template <int width = 32, class X>
    requires(is_shuffled<X>)
  kind_of<X> shfl_sync_idx(const X& value, OperandOf<U32> lane, Here at = {}) {
    return shuffled<width, X>("idx", value, lane, at);
  }
  /// What the lane `distance` below or above has; lanes that have no such neighbour keep their own.
  template <int width = 32, class X>
    requires(is_shuffled<X>)
  kind_of<X> shfl_sync_up(const X& value, OperandOf<U32> distance, Here at = {}) {
    return shuffled<width, X>("up", value, distance, at);
  }
  template <int width = 32, class X>
    requires(is_shuffled<X>)
  kind_of<X> shfl_sync_down(const X& value, OperandOf<U32> distance, Here at = {}) {
    return shuffled<width, X>("down", value, distance, at);
  }

  // Here only to explain: what has neither 32 nor 64 bits.
#define KILN_SHUFFLE(name)                                                                                            \
  KILN_OTHERWISE(value_kind, "a shuffle takes a value of 32 or 64 bits and a lane: U32, S32, U64, F32, F16x2; "          \
                             "registers[i] is a value [dsl-value-kind]")                                              \
  rules::Refused name(KILN_WHATEVER);
  KILN_SHUFFLE(shfl_sync_bfly)
  KILN_SHUFFLE(shfl_sync_idx)
  KILN_SHUFFLE(shfl_sync_up)
  KILN_SHUFFLE(shfl_sync_down)
#undef KILN_SHUFFLE

  // Votes. PTX ISA "vote.sync"
  /// Whether it holds in all lanes of the warp, in one at least, in all or none.
  Pred vote_sync_all(const Pred& p, Here at = {}) { return vote("all", p, at); }
  Pred vote_sync_any(const Pred& p, Here at = {}) { return vote("any", p, at); }
  Pred vote_sync_uni(const Pred& p, Here at = {}) { return vote("uni", p, at); }
  /// The lanes in which it holds, a bit each.
  U32 vote_sync_ballot(const Pred& p, Here at = {});

  // Here only to explain: no predicate.
#define KILN_VOTE(name, Result)                                                                                      \
  template <class X>                                                                                                 \
    requires(!std::is_convertible_v<X, Pred>)                                                                        \
  KILN_REFUSED(value_kind, "a vote takes a predicate: compare a value, as in x != 0, to make one [dsl-value-kind]")  \
  Result name(const X&, Here at = {});
  KILN_VOTE(vote_sync_all, Pred)
  KILN_VOTE(vote_sync_any, Pred)
  KILN_VOTE(vote_sync_uni, Pred)
  KILN_VOTE(vote_sync_ballot, U32)
#undef KILN_VOTE

  // Reductions
  /// All lanes' values combined by one instruction: U32 and S32, on sm_100a and sm_103a also the min or max of F32.
  /// PTX ISA "redux.sync".
  template <RedOp op, class X>
    requires(is_reduced<op, X> && (kind_of<X>::scalar != ScalarType::f32 || op != RedOp::add))
  kind_of<X> redux_sync(const X& value, Here at = {}) {
    using V = kind_of<X>;
    return {*rec_, redux(op, V::scalar, OperandOf<V>(value, at).input(), at)};
  }
  /// All lanes' values combined, in every lane: redux.sync where the target has it for the kind, else five shuffles.
  /// Floats are added in pairs of neighbours, of neighbouring pairs and so on; all lanes get the same sum.
  template <RedOp op, class X>
    requires(is_reduced<op, X>)
  kind_of<X> warp_reduce(const X& value, Here at = {}) {
    using V = kind_of<X>;
    return {*rec_, reduce(op, V::scalar, OperandOf<V>(value, at).input(), at)};
  }
  // Here only to explain: what is not combined so.
  KILN_OTHERWISE(value_kind, "redux_sync<op>(value): add, min, max or bits of U32 or S32, min or max of F32; "
                             "warp_reduce<RedOp::add>(x) adds floats [dsl-value-kind]")
  rules::Refused redux_sync(KILN_WHATEVER);
  KILN_OTHERWISE(value_kind, "warp_reduce<op>(value): add, min, max or bits of U32 or S32, add, min or max of F32; "
                             "registers[i] is a value [dsl-value-kind]")
  rules::Refused warp_reduce(KILN_WHATEVER);

 protected:
  ir::Operand reduce(RedOp op, ScalarType type, const Input& value, Here at);

 private:
  template <int width, class X>
  kind_of<X> shuffled(std::string_view mode, const X& value, const OperandOf<U32>& lane, Here at) {
    using V = kind_of<X>;
    static_assert(width >= 1 && width <= 32 && (width & (width - 1)) == 0, "a group is 1, 2, 4, 8, 16 or 32 lanes");
    return {*rec_, shuffle(mode, width, V::scalar, OperandOf<V>(value, at).input(), lane.input(), at)};
  }
  ir::Operand shuffle(std::string_view mode, int width, ScalarType type, const Input& value, const Input& lane,
                      Here at);
  ir::Operand shuffle_word(std::string_view mode, int width, ScalarType type, const ir::Operand& value,
                           const ir::Operand& lane, Here at);
  ir::Operand redux(RedOp op, ScalarType type, const Input& value, Here at);
  Pred vote(std::string_view mode, const Pred& p, Here at);
};

}  // namespace kiln::dsl
