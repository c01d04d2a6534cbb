// A grouped gemm: the rows of A and D fall into groups, each of which is multiplied by a matrix of its own,
// D[rows of g] = A[rows of g] * B[g]^T.
#pragma once

#include <cstdint>
#include <vector>

#include "launch/contract.hpp"

namespace kiln::harness {

/// Rows of A and D that one matrix of B multiplies.
struct RowGroup {
  std::uint64_t index = 0;  // of the matrix
  std::uint64_t first = 0, rows = 0;
};

/// Throws InputError where A, B, D and the ends of the groups do not agree, for arithmetic that no MMA has, and for
/// what no grouped gemm has: scales, metadata, quantisation, an addend, transposed operands.
void check_groups(const launch::Contract&, const launch::Expectation&);

/// The groups that have rows. Throws InputError where ends are not in order or beyond the rows of A.
std::vector<RowGroup> row_groups(const launch::Contract&, const launch::Expectation&);

/// The contract of one group: its rows of A and D, its B, and the factors and the bias, with their bytes where there
/// are any. Throws as check_groups does.
launch::Contract matrices_of_group(const launch::Contract&, const launch::Expectation&, const RowGroup&);

}  // namespace kiln::harness
