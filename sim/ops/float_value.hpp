// Floating-point values of any PTX type as doubles, and one rounding back. Every f32, f16 and bf16 value and every
// product of two of them is exact in a double; a sum is rounded to odd there, after which one more rounding is as good
// as exact.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "ptx/num/format.hpp"

namespace kiln::sim {

/// The NaN that hardware makes of an f64 NaN: itself, quiet.
inline std::uint64_t quiet_f64(std::uint64_t word) { return word | std::uint64_t{1} << 51; }

/// What an f64 instruction of two sources returns: its result, or the second source's NaN, else the first's.
inline double chosen(double a, double b, double result) {
  if (result == result || (a == a && b == b)) return result;
  return std::bit_cast<double>(quiet_f64(std::bit_cast<std::uint64_t>(b != b ? b : a)));
}

/// a + b with the last bit set when the sum is not exact, so that rounding it again never errs.
inline double add_to_odd(double a, double b) {
  const double sum = a + b;
  const double from_b = sum - a;
  const double error = (a - (sum - from_b)) + (b - from_b);
  if (error == 0 || !std::isfinite(sum)) return sum;
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if (bits & 1) return sum;
  // The true sum lies beyond `sum` away from zero when the error has its sign, else towards zero; both neighbours are
  // odd.
  bits = (error < 0) == (sum < 0) ? bits + 1 : bits - 1;
  return std::bit_cast<double>(bits);
}

/// The halves of a packed pair; none: the type is no such pair.
inline isa::ScalarType half_of(isa::ScalarType t) {
  using isa::ScalarType;
  return t == ScalarType::f16x2 ? ScalarType::f16 : t == ScalarType::bf16x2 ? ScalarType::bf16 : ScalarType::none;
}

/// Elements of a packed type, and bits from one to the next: 6-bit formats sit in bytes. A type that is not packed is
/// its own element.
struct PackedType {
  isa::ScalarType element = isa::ScalarType::none;
  int count = 1;
  int pitch = 0;
  /// .s2f6 is fixed point: an integer is its element.
  bool is_fixed() const { return element == isa::ScalarType::s8; }
};
inline PackedType packed_type(isa::ScalarType t) {
  using isa::ScalarType;
  switch (t) {
    case ScalarType::f32x2: return {ScalarType::f32, 2, 32};
    case ScalarType::f16x2: return {ScalarType::f16, 2, 16};
    case ScalarType::bf16x2: return {ScalarType::bf16, 2, 16};
    case ScalarType::e4m3x2: return {ScalarType::e4m3, 2, 8};
    case ScalarType::e5m2x2: return {ScalarType::e5m2, 2, 8};
    case ScalarType::e3m2x2: return {ScalarType::e3m2, 2, 8};
    case ScalarType::e2m3x2: return {ScalarType::e2m3, 2, 8};
    case ScalarType::e2m1x2: return {ScalarType::e2m1, 2, 4};
    case ScalarType::ue8m0x2: return {ScalarType::ue8m0, 2, 8};
    case ScalarType::ue5m3x2: return {ScalarType::ue5m3, 2, 8};
    case ScalarType::s2f6x2: return {ScalarType::s8, 2, 8};
    case ScalarType::e4m3x4: return {ScalarType::e4m3, 4, 8};
    case ScalarType::e5m2x4: return {ScalarType::e5m2, 4, 8};
    case ScalarType::e3m2x4: return {ScalarType::e3m2, 4, 8};
    case ScalarType::e2m3x4: return {ScalarType::e2m3, 4, 8};
    case ScalarType::e2m1x4: return {ScalarType::e2m1, 4, 4};
    default: return {t, 1, isa::bits(t)};
  }
}

/// How an operation treats its values.
struct FloatRules {
  num::Rounding rounding = num::Rounding::rn;
  bool ftz = false;
  bool sat = false;
  bool relu = false;
};

/// The sum of two values that cancel: -0 when rounding down, unless both are +0.
inline double signed_zero(double a, double b, double sum, num::Rounding r) {
  return sum == 0 && r == num::Rounding::rm && (std::signbit(a) || std::signbit(b)) ? -0.0 : sum;
}

/// Whether a result is flushed: it is subnormal when rounded as if the exponent had no end.
inline bool is_tiny(isa::ScalarType type, double v, num::Rounding rounding) {
  const double least = std::ldexp(1.0, num::format_of(type).emin());
  if (!(std::fabs(v) < least)) return false;
  return std::fabs(num::to_double(type, num::encode(type, 2 * v, rounding))) < 2 * least;
}

/// A value that has one rounding to go, as a word of `type`. An H200 saturates -0 to +0.
inline std::uint64_t round_to(isa::ScalarType type, double v, const FloatRules& rules) {
  if (std::isnan(v))
    return rules.sat || rules.relu ? (rules.relu && !rules.sat ? num::canonical_nan(type) : 0)
                                   : num::canonical_nan(type);
  if (rules.sat) v = v > 1 ? 1 : v > 0 ? v : 0;
  if (rules.relu && !(v > 0)) v = 0;
  if (rules.ftz && is_tiny(type, v, rules.rounding)) v = std::copysign(0.0, v);
  return num::encode(type, v, rules.rounding);
}

/// A source word as a double; subnormals become zeros under ftz.
inline double value_of(isa::ScalarType type, std::uint64_t word, bool ftz) {
  const double v = num::to_double(type, word);
  if (!ftz) return v;
  const num::Format f = num::format_of(type);
  return (word & f.magnitude_mask()) >> f.fraction_bits ? v : std::copysign(0.0, v);
}

/// The greater or lesser of two values: a NaN loses against a number unless it is to be propagated, -0 is less than +0.
inline double extremum(bool is_max, double a, double b, bool propagate_nan) {
  if (std::isnan(a) || std::isnan(b)) {
    if (propagate_nan || (std::isnan(a) && std::isnan(b))) return std::numeric_limits<double>::quiet_NaN();
    return std::isnan(a) ? b : a;
  }
  if (a == b) return std::signbit(a) == is_max ? b : a;
  return (a < b) == is_max ? b : a;
}

inline num::Rounding rounding_of(isa::Rounding r) {
  switch (r) {
    case isa::Rounding::rz:
    case isa::Rounding::rzi: return num::Rounding::rz;
    case isa::Rounding::rm:
    case isa::Rounding::rmi: return num::Rounding::rm;
    case isa::Rounding::rp:
    case isa::Rounding::rpi: return num::Rounding::rp;
    case isa::Rounding::rna: return num::Rounding::rna;
    default: return num::Rounding::rn;
  }
}

}  // namespace kiln::sim
