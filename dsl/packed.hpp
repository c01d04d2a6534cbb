// Two floats in one register: f16 and bf16 in 32 bits, f32 in 64. One instruction computes both.
#pragma once

#include <array>
#include <string>

#include "dsl/math.hpp"
#include "dsl/registers.hpp"

namespace kiln::dsl {

/// What a comparison of two pairs answers: whether it holds of the lower halves, and of the upper.
struct PredPair {
  Pred first, second;
};

// What the operators of pairs call.
PredPair compared_pairs(ScalarType type, std::string_view relation, const Input& a, const Input& b);
ir::Operand selected_halves(ScalarType type, const PredPair& p, const Input& a, const Input& b);

/// Two floats of one type in a register: F16x2, BF16x2, F32x2. Arithmetic rounds to nearest even.
template <ScalarType type>
class Packed : public Value {
 public:
  static constexpr ScalarType scalar = type;
  using Operand = OperandOf<Packed>;

  Packed(Recorder& r, ir::Operand operand) : Value(r, std::move(operand)) {}
  Packed(const Packed&) = default;
  Packed& operator=(const Packed&) = delete;
  KILN_IMMUTABLE_VALUE(Packed)
  KILN_ONE_KIND(Packed, Packed)

  friend Packed operator+(const Operand& a, const Operand& b) { return made("add.rn", {a.input(), b.input()}); }
  friend Packed operator-(const Operand& a, const Operand& b) { return made("sub.rn", {a.input(), b.input()}); }
  friend Packed operator*(const Operand& a, const Operand& b) { return made("mul.rn", {a.input(), b.input()}); }
  friend Packed fma(const Operand& a, const Operand& b, const Operand& c) {
    return made("fma.rn", {a.input(), b.input(), c.input()});
  }
  // Of 16-bit floats; PTX has none for pairs of f32.
  friend Packed max(const Operand& a, const Operand& b) requires(type != ScalarType::f32x2) {
    return made("max", {a.input(), b.input()});
  }
  friend Packed min(const Operand& a, const Operand& b) requires(type != ScalarType::f32x2) {
    return made("min", {a.input(), b.input()});
  }
  /// With the other signs.
  friend Packed operator-(const Operand& a) {
    if constexpr (!is_wide) return made("neg", {a.input()});
    const Input signs{nullptr, std::int64_t(0x8000000080000000), a.at};
    return {a.value->recorder(), computed(type, "xor.b64", {a.input(), signs})};
  }

  // Comparisons, half by half: `const auto [low, high] = a < b;`. With a NaN none holds but !=. PTX ISA "setp".
#define KILN_COMPARE(op, name)                                             \
  friend PredPair operator op(const Operand& a, const Operand& b) {        \
    return compared_pairs(type, name, a.input(), b.input());               \
  }
  KILN_COMPARE(==, "eq")
  KILN_COMPARE(!=, "neu")
  KILN_COMPARE(<, "lt")
  KILN_COMPARE(<=, "le")
  KILN_COMPARE(>, "gt")
  KILN_COMPARE(>=, "ge")
#undef KILN_COMPARE
  /// Each half of `a` where its predicate holds, that of `b` elsewhere: select(a < b, a, b).
  friend Packed select(const PredPair& p, const Operand& a, const Operand& b) {
    return {p.first.recorder(), selected_halves(type, p, a.input(), b.input())};
  }

 private:
  static constexpr bool is_wide = type == ScalarType::f32x2;
  static Packed made(std::string_view operation, std::initializer_list<Input> inputs) {
    return {inputs.begin()->value->recorder(),
            computed(type, std::string(operation) + "." + std::string(isa::spelling(type)), inputs)};
  }
};
using F16x2 = Packed<ScalarType::f16x2>;
using BF16x2 = Packed<ScalarType::bf16x2>;
using F32x2 = Packed<ScalarType::f32x2>;

// Here only to explain: pairs of two kinds.
template <class A, class B>
  requires OfTwoKinds<A, B>
read_as<A> select(const PredPair&, const A&, const B&) {
  (void)rules::refuse<rules::Rule::value_kind, A, B>{};
  return never<read_as<A>>();
}

namespace detail {

template <class V>
inline constexpr bool is_pair = false;
template <ScalarType type>
inline constexpr bool is_pair<Packed<type>> = true;

}  // namespace detail

/// Both without their signs.
template <class Pair>
  requires(detail::is_pair<read_as<Pair>>)
read_as<Pair> abs(const Pair& a, Here at = {}) {
  using V = read_as<Pair>;
  const OperandOf<V> pair(a, at);
  constexpr bool is_wide = V::scalar == ScalarType::f32x2;
  const std::string name = is_wide ? "and.b64" : "abs." + std::string(isa::spelling(V::scalar));
  Recorder& r = pair.value->recorder();
  if constexpr (is_wide) return {r, computed(V::scalar, name, {pair.input(), {nullptr, 0x7fffffff7fffffff, at}})};
  else return {r, computed(V::scalar, name, {pair.input()})};
}

// What pack and unpack call.
ir::Operand packed_of(ScalarType type, const F32& first, const F32& second, Here at);
std::array<F32, 2> unpacked_of(ScalarType type, const Value& pair, Here at);

/// Two floats as a pair, rounded to nearest even where they lose bits; `first` in the lower half.
template <class Pair>
Pair pack(const F32& first, const F32& second, Here at = {}) {
  return {first.recorder(), packed_of(Pair::scalar, first, second, at)};
}
// Here only to explain: what is no float, and no pair.
#define KILN_PACK_TEXT                                                                                        \
  "pack<Pair>(first, second) takes two F32, convert<F32>(x) makes one of an integer; unpack(pair) takes an F16x2, " \
  "BF16x2 or F32x2 [dsl-value-kind]"
KILN_REASON(NotToPack, value_kind, KILN_PACK_TEXT)
template <class Pair, class A, class B>
  requires(!std::is_convertible_v<A, F32> || !std::is_convertible_v<B, F32>)
KILN_REFUSED_FUNCTION(value_kind, KILN_PACK_TEXT)
Pair pack(const A&, const B&, NotToPack = {});
/// The two floats of a pair, exactly.
template <ScalarType type>
std::array<F32, 2> unpack(const Packed<type>& pair, Here at = {}) {
  return unpacked_of(type, pair, at);
}

template <class X>
inline constexpr bool is_pair = false;
template <ScalarType type>
inline constexpr bool is_pair<Packed<type>> = true;
template <class X>
  requires(ReadsAsValue<X> && !is_pair<X>)
KILN_REFUSED_FUNCTION(value_kind, KILN_PACK_TEXT)
std::array<F32, 2> unpack(const X&, NotToPack = {});
#undef KILN_PACK_TEXT

/// Elements 2i and 2i + 1 of registers that hold 16-bit floats.
template <int N, LdState state>
  requires(readable<state>)
BF16x2 pair(const Registers<bf16, N, state>& of, int i, Here at = {}) {
  return {of.recorder(), of.operands(at)[std::size_t(i)]};
}
template <int N, LdState state>
  requires(readable<state>)
F16x2 pair(const Registers<f16, N, state>& of, int i, Here at = {}) {
  return {of.recorder(), of.operands(at)[std::size_t(i)]};
}
// Here only to explain: registers that may not be read, and those of other elements.
template <class T, int N, LdState state>
  requires(!readable<state>)
KILN_REFUSED_FUNCTION(ld_wait, KILN_NOT_READABLE)
BF16x2 pair(const Registers<T, N, state>&, int i, NotReadable = {});
#define KILN_PAIR_TEXT                                                                                            \
  "pair(registers, i) is a register of bf16 or f16; registers[i] is one of f32, pack<BF16x2>(a, b) makes a pair of " \
  "two [dsl-register-type]"
KILN_REASON(NoPairs, register_type, KILN_PAIR_TEXT)
template <class T, int N, LdState state>
  requires(readable<state> && T::scalar != ScalarType::bf16 && T::scalar != ScalarType::f16)
KILN_REFUSED_FUNCTION(register_type, KILN_PAIR_TEXT)
BF16x2 pair(const Registers<T, N, state>&, int i, NoPairs = {});
#undef KILN_PAIR_TEXT

}  // namespace kiln::dsl
