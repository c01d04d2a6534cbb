// Number formats as data: what the bits of a PTX floating-point type mean, and how a value becomes such bits.
//
// The odd thing here is `Number::e`. The tensor core aligns products by their *encoded* exponents, never by normalised
// ones, so a subnormal keeps the exponent of its binade (the smallest normal one) and decoding must not normalise.
#pragma once

#include <cstdint>

#include "ptx/isa/types.hpp"

namespace kiln::num {

using isa::ScalarType;

enum class NumberClass : std::uint8_t { finite, infinite, nan };

/// A decoded word: a finite value is exactly m * 2^lsb. `e` is the encoded exponent of the word's binade.
struct Number {
  NumberClass kind = NumberClass::finite;
  bool negative = false;  // also the sign of a zero or an infinity
  std::int64_t m = 0;     // signed; 0 for infinities and NaNs
  int lsb = 0;
  int e = 0;
};

/// How a format spends its highest codes.
enum class Specials : std::uint8_t {
  ieee,      // all-ones exponent: infinity, or NaN if the fraction is not zero
  nan_only,  // the all-ones magnitude is NaN, everything else is finite
  none,      // every code is a finite number
};

/// Field widths and bias of a binary floating-point format, most significant field first: sign, exponent, fraction.
struct Format {
  int exponent_bits = 0;
  int fraction_bits = 0;
  int bias = 0;
  bool has_sign = true;
  Specials specials = Specials::ieee;
  int ignored_bits = 0;     // tf32: the low 13 bits of its 32-bit container
  bool power_only = false;  // ue8m0: a bare exponent, so no zero and no subnormal

  constexpr int emin() const { return power_only ? -bias : 1 - bias; }
  constexpr int emax() const { return (1 << exponent_bits) - (specials == Specials::ieee ? 2 : 1) - bias; }
  constexpr std::uint64_t magnitude_mask() const { return (1ull << (exponent_bits + fraction_bits)) - 1; }
  constexpr std::uint64_t infinity() const { return ((1ull << exponent_bits) - 1) << fraction_bits; }
  constexpr std::uint64_t max_finite() const {
    if (specials == Specials::ieee) return infinity() - 1;
    return magnitude_mask() - (specials == Specials::nan_only ? 1 : 0);
  }
};

/// The format of a floating-point scalar type; all zero for any other type. PTX ISA "Alternate Floating-Point Data
/// Formats".
constexpr Format format_of(ScalarType type) {
  switch (type) {
    case ScalarType::f16: return {5, 10, 15};
    case ScalarType::bf16: return {8, 7, 127};
    case ScalarType::tf32: return {8, 10, 127, true, Specials::ieee, 13};
    case ScalarType::f32: return {8, 23, 127};
    case ScalarType::f64: return {11, 52, 1023};
    case ScalarType::e4m3: return {4, 3, 7, true, Specials::nan_only};
    case ScalarType::e5m2: return {5, 2, 15};
    case ScalarType::e3m2: return {3, 2, 3, true, Specials::none};
    case ScalarType::e2m3: return {2, 3, 1, true, Specials::none};
    case ScalarType::e2m1: return {2, 1, 1, true, Specials::none};
    case ScalarType::ue8m0: return {8, 0, 127, false, Specials::nan_only, 0, true};
    case ScalarType::ue4m3: return {4, 3, 7, false, Specials::nan_only};
    case ScalarType::ue5m3: return {5, 3, 15, false, Specials::nan_only};
    default: return {};
  }
}

/// Splits a word into an exact number; bits above the format are ignored, tf32 drops its low 13 bits before it
/// classifies.
Number decode(ScalarType type, std::uint64_t word);

/// The value of a word as a double: exact for every format here, a NaN keeps no payload except for f64.
double to_double(ScalarType type, std::uint64_t word);

/// Rounding modifiers of `cvt`: nearest even, toward zero, toward -inf, toward +inf, nearest with ties away from zero.
enum class Rounding : std::uint8_t { rn, rz, rm, rp, rna };

/// Rounds (-1)^negative * magnitude * 2^lsb once into `type`, as PTX `cvt` does; it serves integer sources too.
/// Overflow: max-finite with `satfinite` (and always in fp6/fp4), else the infinity or NaN of the format as the mode
/// asks. ue8m0 takes the magnitude, clamps at 2^-127 and knows rz and rp only.
std::uint64_t encode_exact(ScalarType type, bool negative, std::uint64_t magnitude, int lsb, Rounding rounding,
                           bool satfinite);

/// Converts a double to `type` with one rounding, as PTX `cvt` would; NaN becomes the canonical NaN of the type, except
/// that f32 keeps its sign and payload (both as seen on an H200). PTX ISA "cvt".
std::uint64_t encode(ScalarType type, double value, Rounding rounding = Rounding::rn, bool satfinite = false);

/// The NaN word that conversions to `type` and the tensor core produce: sign clear, all other bits set (0x7FFF,
/// 0x7FFFFFFF, tf32 0x7FFFE000, fp8 0x7F, ue8m0 0xFF); +max-finite for a format without NaN.
std::uint64_t canonical_nan(ScalarType type);

/// cvt.rn.bf16.f32 on words, branch-free for finite input.
constexpr std::uint16_t f32_to_bf16_rn(std::uint32_t word) {
  if ((word & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFF;
  return std::uint16_t((word + 0x7FFFu + ((word >> 16) & 1u)) >> 16);
}

/// cvt.f32.bf16 on words; NaN keeps its payload.
constexpr std::uint32_t bf16_to_f32(std::uint16_t word) { return std::uint32_t(word) << 16; }

/// cvt.{rn,rz,rna}{.satfinite}.tf32.f32 on words. Measured on an H200: rna only cuts the payload of a NaN (so a NaN
/// whose high payload is zero becomes an infinity), and rna.satfinite then takes one tf32 unit off it.
std::uint32_t f32_to_tf32(std::uint32_t word, Rounding rounding, bool satfinite);

/// cvt.rn.f16.f32 on words.
std::uint16_t f32_to_f16_rn(std::uint32_t word);

/// cvt.f32.f16 on words; NaN becomes 0x7FFFFFFF.
std::uint32_t f16_to_f32(std::uint16_t word);

}  // namespace kiln::num
