// What a gemm's elements may be off by, derived from how the hardware rounds. docs/tolerance.md has the derivation.
#pragma once

#include <cstdint>
#include <string>

#include "ptx/isa/modifiers.hpp"
#include "ptx/isa/types.hpp"

namespace kiln::harness {

/// A number, and what it may be off by.
struct Estimate {
  double value = 0, error = 0;
};

/// The errors of one f32 instruction each, as parts of its result: add, mul and fma round to nearest;
/// ex2.approx.ftz.f32, rcp.approx.ftz.f32 and rsqrt.approx.ftz.f32 are what the PTX ISA allows them, and so is
/// lg2.approx.ftz.f32, but for arguments between 1/2 and 2, of which it is no part of the result.
inline constexpr double f32_rounding = 0x1p-24, ex2_error = 0x1p-22, rcp_error = 0x1p-23, rsqrt_error = 0x1p-22;
inline constexpr double lg2_error = 0x1p-22;
/// The least step of f32, and what .ftz takes for zero: less than the least normal number.
inline constexpr double f32_least = 0x1p-149, f32_flushed = 0x1p-126;
/// Covers the second-order terms of a bound and the f64 rounding of the reference itself.
inline constexpr double second_order = 1 + 0x1p-10;

/// How sums are formed: by tensor cores, which truncate, or by a chain of rounded f32 multiply-adds.
enum class Accumulation : std::uint8_t { tensor_core, f32_chain };

/// What an element of D = A * B^T may be off by: `of_scale` of sum |a||b|, then `of_result` of |D| for the rounding to
/// the output type, and `absolute` for underflow in both.
struct Tolerance {
  double of_scale = 0, of_result = 0, absolute = 0;
  std::string argument{};  // one line, for a person

  double bound(double want, double scale) const;
};

/// What fixes the rounding errors of a gemm.
struct GemmArithmetic {
  isa::MmaKind kind = isa::MmaKind::none;  // none: a chain of f32 multiply-adds
  isa::ScalarType output = isa::ScalarType::f32;
  std::uint64_t products = 0;  // of one element of D: K, half of it where A is sparse
  int mma_k = 0;               // products of one MMA
  isa::ScalarType accumulate = isa::ScalarType::f32;
  int factors = 0;  // f32 factors at the end, each a rounded product
  bool integers = false;
  int width = 0;  // terms and sum are cut at 2^-width of the largest; 0: as tcgen05.mma does
  std::uint64_t promoted = 0;  // products of a block whose sum is scaled, and added to those before, in f32; 0: none
};

/// The bound for sums that MMAs of one kind form and f32 or f16 accumulators hold, rounded to nearest even into
/// `output`.
///
/// One MMA cuts each of its K' products and the accumulator at 2^-25 of the largest term (K' + 1 cuts), then truncates
/// the sum to f32 (2^-23); no term and no partial sum exceeds S = sum |a||b|. So ceil(K/K') MMAs are off by at most
/// ceil(K/K') * (2^-23 + (K' + 1) * 2^-25) * S, in any order of k. The fp4 kinds cut K'/16 groups and the accumulator
/// at 2^-35 of the largest product of scales. An f16 accumulator is rounded to nearest (2^-11). Integers are exact.
Tolerance derive_tolerance(const GemmArithmetic&, Accumulation = Accumulation::tensor_core);

/// What division by the root of the mean of so many squares adds: their f32 sum, the mean, rsqrt.approx and the
/// product.
void add_norm(Tolerance&, std::uint64_t squares);

/// The rounding of a number to a type, where it has fewer than 32 bits: `of_scale` is 1, so what goes in as a scale is
/// what the number may be off by already.
Tolerance rounding_tolerance(isa::ScalarType output);

/// The same as derive_tolerance above for K products of elements of `input` in dense MMAs of their type without scales.
Tolerance derive_tolerance(isa::ScalarType input, isa::ScalarType output, std::uint64_t k,
                           Accumulation = Accumulation::tensor_core);

}  // namespace kiln::harness
