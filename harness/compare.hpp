// Is the result right? Element by element against the CPU, within a bound that is derived, not guessed.
// docs/tolerance.md has the derivation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/contract.hpp"

namespace kiln::harness {

/// How sums are formed: by tensor cores, which truncate, or by a chain of rounded f32 multiply-adds.
enum class Accumulation : std::uint8_t { tensor_core, f32_chain };

/// What an element of D = A * B^T may be off by: `of_scale` of sum |a||b|, then `of_result` of |D| for the rounding to
/// the output type, and `absolute` for underflow in both.
struct Tolerance {
  double of_scale = 0, of_result = 0, absolute = 0;
  std::string argument{};  // one line, for a person

  double bound(double want, double scale) const;
};

/// The bound for K products of elements of `input`, accumulated in f32 and rounded to nearest even into `output`.
///
/// One MMA cuts each of its K' products and the accumulator at 2^-25 of the largest term (K' + 1 cuts), then truncates
/// the sum to f32 (2^-23); no term and no partial sum exceeds S = sum |a||b|. So ceil(K/K') MMAs are off by at most
/// ceil(K/K') * (2^-23 + (K' + 1) * 2^-25) * S, in any order of k. Integers are exact.
Tolerance derive_tolerance(isa::ScalarType input, isa::ScalarType output, std::uint64_t k,
                           Accumulation = Accumulation::tensor_core);

/// How one expectation turned out.
struct Comparison {
  launch::Expectation expectation{};
  bool pass = false;
  std::uint64_t elements = 0, wrong = 0;
  // The element nearest to its bound, or furthest beyond it.
  std::vector<std::uint64_t> worst{};
  double got = 0, want = 0, error = 0, bound = 0;
  double max_error = 0;         // absolute, over all elements
  double max_scaled_error = 0;  // in units of sum |a||b|; 0 for copies
  std::string argument{};       // why the bound is what it is
};

/// Throws InputError when `to` cannot be a copy of `from` with that many elements of zero before each row.
void check_copy(const launch::Buffer& from, const launch::Buffer& to, std::uint64_t zeros_before);

/// Compares an output buffer with what the contract expects of it. Throws InputError when the buffers named are missing
/// or their shapes do not fit.
Comparison compare(const launch::Contract&, const launch::Expectation&, Accumulation = Accumulation::tensor_core);

}  // namespace kiln::harness
