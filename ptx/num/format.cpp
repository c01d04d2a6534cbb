#include "ptx/num/format.hpp"

#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

namespace kiln::num {
namespace {

std::uint64_t with_sign(const Format& f, bool negative, std::uint64_t magnitude_word) {
  const bool sign = negative && f.has_sign;
  const std::uint64_t word = magnitude_word | (std::uint64_t{sign} << (f.exponent_bits + f.fraction_bits));
  return word << f.ignored_bits;
}

// Whether discarding `drop` low bits of `magnitude` under `rounding` must increment what is kept.
bool rounds_up(std::uint64_t magnitude, int drop, bool negative, Rounding rounding) {
  if (drop <= 0) return false;
  const bool all_gone = drop > 64;  // then the rest is below half a unit
  const std::uint64_t rest = drop >= 64 ? magnitude : magnitude & ((1ull << drop) - 1);
  if (rest == 0) return false;
  const std::uint64_t half = all_gone ? std::numeric_limits<std::uint64_t>::max() : 1ull << (drop - 1);
  const bool odd = drop < 64 && ((magnitude >> drop) & 1);
  const bool tie = !all_gone && rest == half;
  const bool above = !all_gone && rest > half;
  switch (rounding) {
    case Rounding::rn: return above || (tie && odd);
    case Rounding::rna: return above || tie;
    case Rounding::rz: return false;
    case Rounding::rm: return negative;
    case Rounding::rp: return !negative;
  }
  return false;
}

std::uint64_t overflow_word(const Format& f, bool negative, Rounding rounding, bool satfinite) {
  const bool toward_zero =
      rounding == Rounding::rz || (rounding == Rounding::rm && !negative) || (rounding == Rounding::rp && negative);
  if (satfinite || toward_zero || f.specials == Specials::none) return with_sign(f, negative, f.max_finite());
  return with_sign(f, negative, f.specials == Specials::ieee ? f.infinity() : f.magnitude_mask());
}

// A scale is a magnitude: the sign is dropped first, so "toward +inf" means away from zero. CUDA's cuda_fp8.h says so
// too.
std::uint64_t encode_power(std::uint64_t magnitude, int lsb, Rounding rounding, bool satfinite) {
  assert(rounding == Rounding::rz || rounding == Rounding::rp);
  if (magnitude == 0) return 0;
  int e = int(std::bit_width(magnitude)) - 1 + lsb;
  if (rounding == Rounding::rp && !std::has_single_bit(magnitude)) ++e;
  if (e < -127) return 0;
  if (e > 127) return satfinite ? 0xFE : 0xFF;
  return std::uint64_t(e + 127);
}

// The one narrowing that keeps a NaN's sign and payload (seen on an H200): f64 to f32, made quiet.
std::uint64_t quiet_f32_nan(std::uint64_t f64_word) {
  return ((f64_word >> 32) & 0x80000000u) | 0x7FC00000u | ((f64_word >> 29) & 0x3FFFFFu);
}

std::uint64_t encode_infinity(ScalarType type, bool negative, bool satfinite) {
  const Format f = format_of(type);
  return overflow_word(f, negative, Rounding::rn, satfinite);
}

}  // namespace

Number decode(ScalarType type, std::uint64_t word) {
  const Format f = format_of(type);
  word >>= f.ignored_bits;
  const auto fraction = std::int64_t(word & ((1ull << f.fraction_bits) - 1));
  const int all_ones = (1 << f.exponent_bits) - 1;
  const int field = int(word >> f.fraction_bits) & all_ones;
  Number n;
  n.negative = f.has_sign && ((word >> (f.exponent_bits + f.fraction_bits)) & 1);
  if (f.specials == Specials::ieee && field == all_ones) {
    n.kind = fraction ? NumberClass::nan : NumberClass::infinite;
    return n;
  }
  if (f.specials == Specials::nan_only && (word & f.magnitude_mask()) == f.magnitude_mask()) {
    n.kind = NumberClass::nan;
    return n;
  }
  const bool normal = field != 0 || f.power_only;
  n.e = (normal ? field : 1) - f.bias;
  n.lsb = n.e - f.fraction_bits;
  n.m = fraction + (normal ? std::int64_t{1} << f.fraction_bits : 0);
  if (n.negative) n.m = -n.m;
  return n;
}

double to_double(ScalarType type, std::uint64_t word) {
  if (type == ScalarType::f64) return std::bit_cast<double>(word);
  const Number n = decode(type, word);
  if (n.kind == NumberClass::nan) return std::numeric_limits<double>::quiet_NaN();
  const double magnitude = n.kind == NumberClass::infinite ? std::numeric_limits<double>::infinity()
                                                           : std::ldexp(double(n.m < 0 ? -n.m : n.m), n.lsb);
  return n.negative ? -magnitude : magnitude;
}

std::uint64_t encode_exact(ScalarType type, bool negative, std::uint64_t magnitude, int lsb, Rounding rounding,
                           bool satfinite) {
  const Format f = format_of(type);
  if (f.power_only) return encode_power(magnitude, lsb, rounding, satfinite);
  negative = negative && f.has_sign;
  if (magnitude == 0) return with_sign(f, negative, 0);
  int e = int(std::bit_width(magnitude)) - 1 + lsb;
  if (e < f.emin()) e = f.emin();
  const int drop = e - f.fraction_bits - lsb;
  std::uint64_t kept = drop <= 0 ? magnitude << -drop : drop >= 64 ? 0 : magnitude >> drop;
  if (rounds_up(magnitude, drop, negative, rounding)) ++kept;
  if (kept >> (f.fraction_bits + 1)) {
    kept >>= 1;
    ++e;
  }
  if (e > f.emax()) return overflow_word(f, negative, rounding, satfinite);
  // A subnormal is its own fraction; a normal one adds its hidden bit to (exponent field - 1), which is the same sum.
  const std::uint64_t hidden = kept >> f.fraction_bits;
  const std::uint64_t field = hidden ? std::uint64_t(e + f.bias) - 1 : 0;
  const std::uint64_t word = (field << f.fraction_bits) + kept;
  if (word > f.max_finite()) return overflow_word(f, negative, rounding, satfinite);
  return with_sign(f, negative, word);
}

std::uint64_t canonical_nan(ScalarType type) {
  const Format f = format_of(type);
  if (f.specials == Specials::none) return f.max_finite();
  return f.magnitude_mask() << f.ignored_bits;
}

std::uint64_t encode(ScalarType type, double value, Rounding rounding, bool satfinite) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  if (type == ScalarType::f64) return bits;
  const Number n = decode(ScalarType::f64, bits);
  if (n.kind == NumberClass::nan) return type == ScalarType::f32 ? quiet_f32_nan(bits) : canonical_nan(type);
  if (n.kind == NumberClass::infinite) return encode_infinity(type, n.negative, satfinite);
  const auto magnitude = std::uint64_t(n.m < 0 ? -n.m : n.m);
  return encode_exact(type, n.negative, magnitude, n.lsb, rounding, satfinite);
}

std::uint32_t f32_to_tf32(std::uint32_t word, Rounding rounding, bool satfinite) {
  assert(rounding == Rounding::rn || rounding == Rounding::rz || rounding == Rounding::rna);
  const bool special = (word & 0x7F800000u) == 0x7F800000u;
  if (special && (rounding == Rounding::rna || (word & 0x7FFFFFu) == 0))
    return (word & ~0x1FFFu) - (satfinite ? 0x2000u : 0u);
  if (special) return 0x7FFFE000u;
  std::uint32_t sum = word;
  if (rounding == Rounding::rna) sum += 0x1000u;
  if (rounding == Rounding::rn) sum += 0x0FFFu + ((word >> 13) & 1u);
  const bool overflow = (sum & 0x7F800000u) == 0x7F800000u;
  return (sum & ~0x1FFFu) - (overflow && satfinite ? 0x2000u : 0u);
}

std::uint16_t f32_to_f16_rn(std::uint32_t word) {
  const std::uint32_t sign = (word >> 16) & 0x8000u;
  const std::uint32_t magnitude = word & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return 0x7FFF;
  std::uint32_t result;
  if (magnitude >= 0x47800000u) {  // 65536 and above, infinity
    result = 0x7C00u;
  } else if (magnitude >= 0x38800000u) {  // normal in f16; a carry runs into the exponent and up to infinity by itself
    result = (magnitude - 0x38000000u + 0x0FFFu + ((magnitude >> 13) & 1u)) >> 13;
  } else {
    // Adding 0.5 puts the f16 subnormal grid (2^-24) at the last bit of the sum, so the adder rounds for us.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    result = std::bit_cast<std::uint32_t>(shifted) - 0x3F000000u;
  }
  return std::uint16_t(sign | result);
}

std::uint32_t f16_to_f32(std::uint16_t word) {
  const std::uint32_t sign = (word & 0x8000u) << 16;
  const std::uint32_t magnitude = word & 0x7FFFu;
  if (magnitude > 0x7C00u) return 0x7FFFFFFFu;
  if (magnitude == 0x7C00u) return sign | 0x7F800000u;
  if (magnitude >= 0x0400u) return sign | ((magnitude << 13) + 0x38000000u);
  const float value = float(magnitude) * 0x1p-24f;
  return sign | std::bit_cast<std::uint32_t>(value);
}

}  // namespace kiln::num
