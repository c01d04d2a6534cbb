// Is the result right? Element by element against the CPU, within a bound that is derived, not guessed.
// docs/tolerance.md has the derivation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/problem/tolerance.hpp"
#include "launch/contract.hpp"

namespace kiln::harness {

/// How far one matrix is from another: the largest difference, and the root mean square of all, as a part of that of
/// the other matrix. What is not finite in either does not count.
struct Deviation {
  double largest = 0, relative = 0;
};

/// How one expectation turned out.
struct Comparison {
  launch::Expectation expectation{};
  bool pass = false;
  std::uint64_t elements = 0, wrong = 0;
  std::uint64_t whole = 0;  // elements of the output, where `elements` is a sample of them; 0: all were compared
  // The element nearest to its bound, or furthest beyond it.
  std::vector<std::uint64_t> worst{};
  double got = 0, want = 0, error = 0, bound = 0;
  double max_error = 0;         // absolute, over all elements
  double max_scaled_error = 0;  // in units of sum |a||b|; 0 for copies
  std::string argument{};       // why the bound is what it is
  // A gemm of quantised operands: what the kernel is off by, against the product of what the buffers hold, and what
  // that product is off by, against the numbers that were quantised.
  std::optional<Deviation> kernel{}, quantisation{};
};

/// Throws InputError when `to` cannot be a copy of `from` with that many elements of zero before each row.
void check_copy(const launch::Buffer& from, const launch::Buffer& to, std::uint64_t zeros_before);

/// Compares an output buffer with what the contract expects of it. Throws InputError for what gemm_problem and
/// check_copy refuse, and for metadata that means nothing.
Comparison compare(const launch::Contract&, const launch::Expectation&, Accumulation = Accumulation::tensor_core);

/// Some elements of a large output: how many at least, and the seed that chooses them.
struct Sample {
  std::uint64_t elements = 4096, seed = 1;
};

/// The same for a sample of a gemm's elements, each against its exact dot product. Compares all where the output has no
/// more elements than that, and of expectations that are no gemm.
Comparison compare_sample(const launch::Contract&, const launch::Expectation&, const Sample&,
                          Accumulation = Accumulation::tensor_core);

}  // namespace kiln::harness
