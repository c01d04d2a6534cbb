// A gemm of batches: A, B and D have three extents, of which the first counts matrices, and D[i] = A[i] * B[i]^T.
#pragma once

#include <cstdint>
#include <optional>

#include "launch/contract.hpp"

namespace kiln::harness {

/// How many matrices a batch has; nothing for a gemm of plain matrices. Throws InputError where A, B and D do not
/// agree, and for what no batch has: scales, metadata, quantisation, an addend, a bias.
std::optional<std::uint64_t> batch_size(const launch::Contract&, const launch::Expectation&);

/// The contract of one matrix of a batch: A, B, D and the factors, with its bytes where there are any.
launch::Contract matrix_of_batch(const launch::Contract&, const launch::Expectation&, std::uint64_t index);

}  // namespace kiln::harness
