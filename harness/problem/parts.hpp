// Gemms of several matrices, and each of them alone.
//
// A gemm of batches: A, B and D have three extents, of which the first counts matrices, and D[i] = A[i] * B[i]^T.
// A grouped gemm: the rows of A and D fall into groups, each of which is multiplied by a matrix of its own,
// D[rows of g] = A[rows of g] * B[g]^T. Groups follow one another in the rows of a matrix, and a list says where each
// ends; or they are a batch, and a list says how many rows of each matrix count. Scales of groups that follow one
// another begin with a chunk of their own for each group.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "launch/contract.hpp"

namespace kiln::harness {

/// How many matrices a batch has; nothing for a gemm of plain matrices. Throws InputError where A, B and D do not
/// agree, and for what no batch has: metadata, quantisation, an addend, a bias, a norm, scales of D.
std::optional<std::uint64_t> batch_size(const launch::Contract&, const launch::Expectation&);

/// The contract of one matrix of a batch: A, B, D and the factors, with its bytes where there are any.
launch::Contract matrix_of_batch(const launch::Contract&, const launch::Expectation&, std::uint64_t index);

/// Rows of A and D that one matrix of B multiplies.
struct RowGroup {
  std::uint64_t index = 0;  // of the matrix
  std::uint64_t first = 0, rows = 0;  // first: among the rows of all matrices
  std::uint64_t chunk = 0;            // of scales, with which those of its rows begin where groups follow one another
};

/// Whether a gemm is one of groups.
inline bool has_groups(const launch::Expectation& e) { return !e.groups.empty() || !e.lengths.empty(); }
/// Where an element of D lies, given its row among those of all matrices: row and column, or matrix, row and column.
std::vector<std::uint64_t> place_in_groups(const launch::Buffer& d, std::uint64_t row, std::uint64_t column);

/// Throws InputError where A, B, D and the ends of the groups do not agree, for arithmetic that no MMA has, and for
/// what no grouped gemm has: metadata, quantisation, an addend, a norm, scales of D, transposed operands.
void check_groups(const launch::Contract&, const launch::Expectation&);

/// The groups that have rows. Throws InputError where ends are not in order, and where ends or lengths are beyond the
/// rows of A.
std::vector<RowGroup> row_groups(const launch::Contract&, const launch::Expectation&);

/// The contract of one group: its rows of A and D, its B, and the factors and the bias, with their bytes where there
/// are any. Throws as check_groups does.
launch::Contract matrices_of_group(const launch::Contract&, const launch::Expectation&, const RowGroup&);

}  // namespace kiln::harness
