// Half of a sparse A, chosen by magnitude, and the metadata that says which half. PTX ISA "Sparse matrices".
#pragma once

#include <cstdint>
#include <vector>

#include "launch/contract.hpp"
#include "ptx/isa/modifiers.hpp"

namespace kiln::harness {

/// Makes a row of `k` numbers sparse: keeps one of each two (tf32), two of each four, or two of each four pairs (the
/// packed fp4 kinds), the largest magnitudes (of a pair: their sum), the earlier of equals; the others become 0.
/// Returns the columns that are kept, in order, and writes the row's metadata.
std::vector<std::uint32_t> prune_row(isa::MmaKind, double* numbers, std::uint64_t k, std::uint64_t row,
                                     launch::Buffer& metadata);

/// A buffer of metadata in which every nibble means something: the first elements of each chunk.
void clear_metadata(launch::Buffer& metadata);

}  // namespace kiln::harness
