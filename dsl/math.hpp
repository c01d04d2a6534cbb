// Functions of values, beside their operators: roots, logarithms and the like of floats, conversions, bits of integers.
// The name of an approximation is its instruction's, for each says how exact it is.
#pragma once

#include <vector>

#include "dsl/value.hpp"
#include "ptx/isa/modifiers.hpp"

namespace kiln::dsl {

/// An instruction of one value, or of several, that only computes: asked again, it answers the same register.
ir::Operand computed(ScalarType type, std::string_view mnemonic, std::initializer_list<Input> inputs);

// Floats --------------------------------------------------------------------------------------------------------------

/// Rounded to nearest even. PTX ISA "sqrt", "rcp".
inline F32 sqrt_rn(const OperandOf<F32>& a) { return F32::unary("sqrt.rn.f32", a); }
inline F32 rcp_rn(const OperandOf<F32>& a) { return F32::unary("rcp.rn.f32", a); }
/// Within a few units in the last place; subnormal numbers are zero. PTX ISA "sqrt", "rsqrt".
inline F32 sqrt_approx_ftz(const OperandOf<F32>& a) { return F32::unary("sqrt.approx.ftz.f32", a); }
inline F32 rsqrt_approx_ftz(const OperandOf<F32>& a) { return F32::unary("rsqrt.approx.ftz.f32", a); }
/// The logarithm to base 2, with an absolute error below 2^-22 near 1. PTX ISA "lg2".
inline F32 lg2_approx_ftz(const OperandOf<F32>& a) { return F32::unary("lg2.approx.ftz.f32", a); }
/// With an absolute error of about 2^-20.5 from -pi to pi. PTX ISA "sin", "cos".
inline F32 sin_approx_ftz(const OperandOf<F32>& a) { return F32::unary("sin.approx.ftz.f32", a); }
inline F32 cos_approx_ftz(const OperandOf<F32>& a) { return F32::unary("cos.approx.ftz.f32", a); }
/// With a relative error of about 2^-11. PTX ISA "tanh".
inline F32 tanh_approx(const OperandOf<F32>& a) { return F32::unary("tanh.approx.f32", a); }
/// The error function, with an absolute error below 3e-7: with x = |a| and t = 1 / (1 + 0.3275911 x) the sequence
/// 1 - (((((1.061405429 t - 1.453152027) t + 1.421413741) t - 0.284496736) t + 0.254829592) t) 2^(-x^2 log2 e), under
/// the sign of a. Abramowitz and Stegun, 7.1.26.
F32 erf(const OperandOf<F32>& a);

/// Without its sign.
inline F32 abs(const OperandOf<F32>& a) { return F32::unary("abs.f32", a); }
/// Cut to 0 ... 1; NaN is 0. PTX ISA ".sat".
inline F32 cvt_sat(const OperandOf<F32>& a) { return F32::unary("cvt.sat.f32.f32", a); }
/// The next whole number: below, above, towards zero, nearest with halves to even. PTX ISA "cvt".
inline F32 floor(const OperandOf<F32>& a) { return F32::unary("cvt.rmi.f32.f32", a); }
inline F32 ceil(const OperandOf<F32>& a) { return F32::unary("cvt.rpi.f32.f32", a); }
inline F32 trunc(const OperandOf<F32>& a) { return F32::unary("cvt.rzi.f32.f32", a); }
inline F32 rint(const OperandOf<F32>& a) { return F32::unary("cvt.rni.f32.f32", a); }
/// `magnitude` under the sign of `sign`. PTX ISA "copysign", whose first operand is the sign.
inline F32 copysign(const OperandOf<F32>& magnitude, const OperandOf<F32>& sign) {
  return F32::binary("copysign.f32", sign, magnitude);
}

// Conversions ---------------------------------------------------------------------------------------------------------

using isa::Rounding;

/// "cvt.rn.f32.u32"; nothing where both are the same to an instruction.
ir::Operand converted(ScalarType to, ScalarType from, Rounding, const Input&);

template <class V>
inline constexpr bool is_number = V::scalar == ScalarType::u32 || V::scalar == ScalarType::s32 ||
                                  V::scalar == ScalarType::u64 || V::scalar == ScalarType::f32;

/// Whether both are numbers of kinds that are converted, or have 32 bits.
template <class To, class From>
concept OfNumbers = HasKind<From> && is_number<To> && is_number<kind_of<From>>;
template <class To, class From>
concept Of32Bits = HasKind<From> && isa::bits(To::scalar) == 32 && isa::bits(kind_of<From>::scalar) == 32;

/// The same number as another kind: convert<F32>(index), convert<U32>(x). Floats become integers towards zero unless
/// `rounding` says otherwise (rni: to nearest); integers become floats to nearest even. A number that the kind does not
/// have becomes the nearest that it has, where a float becomes an integer. PTX ISA "cvt".
template <class To, Rounding rounding = Rounding::none, class From>
  requires(OfNumbers<To, From>)
To convert(const From& from, Here at = {}) {
  using V = kind_of<From>;
  const OperandOf<V> operand(from, at);
  constexpr bool from_float = V::scalar == ScalarType::f32, to_float = To::scalar == ScalarType::f32;
  constexpr Rounding usual = from_float == to_float ? Rounding::none : from_float ? Rounding::rzi : Rounding::rn;
  const Input in = operand.input();
  return {recorder_of(in, in), converted(To::scalar, V::scalar, rounding == Rounding::none ? usual : rounding, in)};
}

/// The same 32 bits as another kind.
template <class To, class From>
  requires(Of32Bits<To, From>)
To bit_cast(const From& from, Here at = {}) {
  const OperandOf<kind_of<From>> operand(from, at);
  const Input in = operand.input();
  return {recorder_of(in, in), computed(To::scalar, "mov.b32", {in})};
}

// Here only to explain: other kinds.
#define KILN_CONVERT_TEXT                                                                                         \
  "convert<To>(x) makes a U32, S32, U64 or F32 of another; cvt<bf16>(registers) and pack<BF16x2>(a, b) make 16-bit " \
  "floats [dsl-value-kind]"
KILN_REASON(NotToConvert, value_kind, KILN_CONVERT_TEXT)
template <class To, Rounding rounding = Rounding::none, class From>
  requires(!OfNumbers<To, From>)
KILN_REFUSED_FUNCTION(value_kind, KILN_CONVERT_TEXT)
To convert(const From&, NotToConvert = {});
#undef KILN_CONVERT_TEXT
#define KILN_CAST_TEXT                                                                                              \
  "bit_cast<To>(x) takes and makes 32 bits; convert<To>(x), bit_cast<To>(x), widen(x) and narrow(x) change a kind " \
  "[dsl-value-kind]"
KILN_REASON(NotToCast, value_kind, KILN_CAST_TEXT)
template <class To, class From>
  requires(ReadsAsValue<From> && !Of32Bits<To, From>)
KILN_REFUSED_FUNCTION(value_kind, KILN_CAST_TEXT)
To bit_cast(const From&, NotToCast = {});
#undef KILN_CAST_TEXT

// Bits of integers ----------------------------------------------------------------------------------------------------

/// The upper half of a product. PTX ISA "mul".
inline U32 mul_hi(const OperandOf<U32>& a, const OperandOf<U32>& b) {
  return {recorder_of(a.input(), b.input()), computed(ScalarType::u32, "mul.hi.u32", {a.input(), b.input()})};
}

/// The same of S32 and of U64.
template <class A, class B>
  requires(std::is_same_v<read_as<A>, S32> || std::is_same_v<read_as<A>, U64>)
read_as<A> mul_hi(const A& a, const B& b, Here at = {}) {
  using V = read_as<A>;
  const OperandOf<V> x(a, at), y(b, at);
  const std::string_view name = V::scalar == ScalarType::s32 ? "mul.hi.s32" : "mul.hi.u64";
  return {recorder_of(x.input(), y.input()), computed(V::scalar, name, {x.input(), y.input()})};
}
/// Without its sign; of the least S32 it is that number. PTX ISA "abs".
template <class X>
  requires(std::is_same_v<read_as<X>, S32>)
S32 abs(const X& a, Here at = {}) {
  const OperandOf<S32> in(a, at);
  return {in.value->recorder(), computed(ScalarType::s32, "abs.s32", {in.input()})};
}

/// How many bits are set, and how many above the highest that is.
U32 popc(const OperandOf<U32>& a);
U32 clz(const OperandOf<U32>& a);
/// The bits in reverse order.
U32 brev(const OperandOf<U32>& a);
/// `length` bits of `a` from bit `from` on, and `into` with those bits replaced by `field`. PTX ISA "bfe", "bfi".
U32 bfe(const OperandOf<U32>& a, const OperandOf<U32>& from, const OperandOf<U32>& length);
U32 bfi(const OperandOf<U32>& field, const OperandOf<U32>& into, const OperandOf<U32>& from,
        const OperandOf<U32>& length);
/// Four bytes of the eight of `a` (0 ... 3) and `b` (4 ... 7), each chosen by four bits of `selector`. PTX ISA "prmt".
U32 prmt(const OperandOf<U32>& a, const OperandOf<U32>& b, const OperandOf<U32>& selector);
/// 64 bits shifted by `count` modulo 32: the upper half of the left shift, the lower one of the right shift.
/// PTX ISA "shf".
U32 shf_l_wrap(const OperandOf<U32>& low, const OperandOf<U32>& high, const OperandOf<U32>& count);
U32 shf_r_wrap(const OperandOf<U32>& low, const OperandOf<U32>& high, const OperandOf<U32>& count);
/// Any function of three bits, by its value for 0xF0, 0xCC and 0xAA. PTX ISA "lop3".
template <std::uint8_t table>
U32 lop3(const OperandOf<U32>& a, const OperandOf<U32>& b, const OperandOf<U32>& c) {
  const Input x = a.input(), y = b.input(), z = c.input();
  return {x.value ? recorder_of(x, y) : recorder_of(y, z),
          computed(ScalarType::u32, "lop3.b32", {x, y, z, {nullptr, table, a.at}})};
}

// Several values ------------------------------------------------------------------------------------------------------

/// All of several values, at least one, by a function of two: pairs, pairs of pairs and so on, which makes the shortest
/// chain of instructions.
template <class V, class Combine>
V combined(const std::vector<V>& values, Combine combine) {
  if (values.size() == 1) return values[0];
  std::vector<V> pairs;
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) pairs.push_back(combine(values[i], values[i + 1]));
  if (values.size() % 2 != 0) pairs.push_back(values.back());
  return combined(pairs, combine);
}

// Here only to explain: functions by the names that C++ has for them.
#define KILN_OF_CPP(name, Reason, text)        \
  KILN_REASON(Reason, arguments, text)         \
  template <class X>                           \
    requires(ReadsAsValue<X>)                  \
  KILN_REFUSED_FUNCTION(arguments, text)       \
  rules::Refused name(const X&, Reason = {}) { \
    return {};                                 \
  }
KILN_OF_CPP(exp, NamedExp, "e^x is ex2_approx_ftz(x * std::numbers::log2e_v<float>) [dsl-arguments]")
KILN_OF_CPP(exp2, NamedExp2, "2^x is ex2_approx_ftz(x) [dsl-arguments]")
KILN_OF_CPP(log, NamedLog, "the natural logarithm is lg2_approx_ftz(x) * std::numbers::ln2_v<float> [dsl-arguments]")
KILN_OF_CPP(log2, NamedLog2, "the logarithm to base 2 is lg2_approx_ftz(x) [dsl-arguments]")
KILN_OF_CPP(sqrt, NamedSqrt, "sqrt_rn(x) is rounded to nearest, sqrt_approx_ftz(x) takes fewer instructions "
                             "[dsl-arguments]")
KILN_OF_CPP(rsqrt, NamedRsqrt, "1 / sqrt(x) is rsqrt_approx_ftz(x) [dsl-arguments]")
KILN_OF_CPP(tanh, NamedTanh, "tanh_approx(x) has 11 bits [dsl-arguments]")
KILN_OF_CPP(sin, NamedSin, "sin_approx_ftz(x) is exact enough from -pi to pi [dsl-arguments]")
KILN_OF_CPP(cos, NamedCos, "cos_approx_ftz(x) is exact enough from -pi to pi [dsl-arguments]")
#undef KILN_OF_CPP

}  // namespace kiln::dsl
