// Part of a large gemm: blocks of rows and columns chosen at random, each with its rows of A and B, so that every
// element in them is checked exactly as it would be among all.
#pragma once

#include <cstdint>
#include <vector>

#include "launch/contract.hpp"

namespace kiln::harness {

/// Rows and columns of D, and the elements where they meet.
struct SampleBlock {
  std::uint64_t matrix = 0;                      // of a batch, or of B where rows are in groups
  std::vector<std::uint64_t> rows{}, columns{};  // in no order
};

/// Blocks of 8 by 8 elements, or as wide as the matrices, that together have at least `elements`. The same seed chooses
/// the same. Throws InputError where the expectation is no gemm or does not fit its buffers.
std::vector<SampleBlock> choose_blocks(const launch::Contract&, const launch::Expectation&, std::uint64_t elements,
                                       std::uint64_t seed);

/// The gemm of a block alone, which is its only expectation: the block's rows of A and of B with their scales and
/// metadata, its elements of C, of the bias and of D.
launch::Contract gemm_of_block(const launch::Contract&, const launch::Expectation&, const SampleBlock&);

}  // namespace kiln::harness
