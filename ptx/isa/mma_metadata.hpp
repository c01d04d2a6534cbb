// Metadata of a sparse A in registers (mma.sp, wgmma.mma_async.sp): which lanes hold the four bits of a chunk.
#pragma once

#include <cstdint>

namespace kiln::isa {

/// Stored elements that four bits of metadata place: one of two for tf32, two of four, or two pairs of eight for 4-bit
/// elements. `bits` of an element in its container. PTX ISA "Sparse matrices with structured sparsity".
constexpr int metadata_kept(int bits) { return bits == 32 ? 1 : bits == 4 ? 4 : 2; }

/// Four bits of metadata in a warp's registers.
struct MetadataBits {
  int lane = 0;
  int shift = 0;
  constexpr bool operator==(const MetadataBits&) const = default;
};

/// Lanes of four that hold metadata: the sparsity selector chooses among 4, 2 or 1 such sets. `stored_k` counts stored
/// elements of a row of `bits` each.
constexpr int metadata_lanes(int bits, int stored_k) { return stored_k / metadata_kept(bits) / 4; }

/// Whether a shape has the sparsity selector. ptxas 13.0 takes all four for m16n8k32 of 16 bits too, which has two.
constexpr bool has_selector(int bits, int stored_k, std::int64_t selector) {
  return selector >= 0 && selector < 4 / metadata_lanes(bits, stored_k);
}

/// Where chunk `chunk` of a row (of 16) lies. Wide elements: a lane's word holds four chunks of row g in its low half
/// and of row g + 8 in its high half. Bytes and nibbles: a word holds eight chunks of one row. `selector` is the
/// operand. PTX ISA "Sparse Matrix Fragments".
constexpr MetadataBits metadata_bits(int bits, int stored_k, int row, int chunk, int selector) {
  const int first = 4 * (row % 8) + metadata_lanes(bits, stored_k) * selector;
  if (bits >= 16) return {first + chunk / 4, 16 * (row / 8) + 4 * (chunk % 4)};
  return {first + 2 * (chunk / 8) + row / 8, 4 * (chunk % 8)};
}

}  // namespace kiln::isa
