// Structured sparsity: what metadata of a sparse A says and where it lies in tensor memory. PTX ISA "Sparse matrices".
#pragma once

#include <cstdint>

#include "ptx/isa/tcgen05.hpp"

namespace kiln::isa {

/// Columns of metadata that one MMA reads: one for kind::f16 and tf32, which store the columns in pairs and choose with
/// the descriptor's selector; two for the others.
constexpr int metadata_columns(MmaKind kind) { return kind == MmaKind::f16 || kind == MmaKind::tf32 ? 1 : 2; }

/// Where the metadata of the `step`th MMA along K lies: columns from the first, and the selector.
struct MetadataPlace {
  int column = 0;
  int selector = 0;
  constexpr bool operator==(const MetadataPlace&) const = default;
};
constexpr MetadataPlace metadata_place(MmaKind kind, int step) {
  if (metadata_columns(kind) == 1) return {step & ~1, step & 1};
  return {2 * step, 0};
}

/// Columns for the metadata of `steps` MMAs.
constexpr int metadata_columns(MmaKind kind, int steps) {
  return metadata_columns(kind) == 1 ? (steps + 1) & ~1 : 2 * steps;
}

}  // namespace kiln::isa
