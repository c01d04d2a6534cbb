// Shared-memory tiles as types: how many bytes, where each piece lies, which TMA boxes fill it, and the constant part
// of the matrix descriptor that reads it. All of it follows from element type, extents, major and layout.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include <algorithm>
#include <cstdint>

#include "dsl/types.hpp"
#include "ptx/isa/shared_descriptor.hpp"
#include "ptx/isa/tma.hpp"
#include "ptx/rules/shared_memory.hpp"
#include "ptx/rules/tma.hpp"

namespace kiln::dsl {

/// An MN x K tile of T. K_major: K is contiguous. A row longer than the swizzle span is cut into blocks of one span,
/// each block holding all rows; TMA fills a block with one copy (or more, when it has over 256 rows).
template <class T, int MN, int K, Major major, Layout layout>
struct SharedTile {
  using element = T;
  static constexpr int rows = MN;
  static constexpr int cols = K;
  static constexpr Major order = major;
  static constexpr Layout form = layout;
  static constexpr isa::Swizzle swizzle = swizzle_of(layout);

  static constexpr int inner = major == Major::K ? K : MN;  // elements along the contiguous dimension
  static constexpr int outer = major == Major::K ? MN : K;
  static constexpr int inner_bytes = inner * T::bits / 8;
  static constexpr int span = layout == Layout::packed ? inner_bytes : isa::span_bytes(swizzle);
  static constexpr int blocks = inner_bytes <= span ? 1 : inner_bytes / span;
  static constexpr int row_pitch = span;  // of a block; a narrower row still takes a whole span (measured on Hopper)
  static constexpr int block_bytes = outer * row_pitch;
  static constexpr int bytes = blocks * block_bytes;
  /// What the copies of one tile add to an mbarrier's transaction count: the elements, without padding.
  static constexpr int transaction_bytes = outer * inner * T::packed_bits / 8;
  static constexpr int alignment = std::max(isa::tma_shared_alignment, isa::period_bytes(swizzle));

  // The TMA box: one block, or a part of its rows.
  static constexpr int box_inner = inner / blocks;
  static constexpr int box_rows_pieces = (outer + isa::tma_max_box - 1) / isa::tma_max_box;
  static constexpr int box_outer = outer / box_rows_pieces;

  static constexpr rules::Verdict check() {
    using namespace rules;
    const Verdict span_rule = layout == Layout::packed ? legal : tile_span(swizzle, inner_bytes);
    return first(span_rule, tma_inner_bytes(std::int64_t(box_inner) * T::bits / 8), tma_box(box_inner),
                 tma_box(outer % box_rows_pieces == 0 ? box_outer : outer),
                 tma_inner_span(swizzle, std::int64_t(box_inner) * T::bits / 8));
  }
  using Required = decltype(rules::require<check()>());  // a static_assert would make clang say it three times

  static constexpr isa::OperandTile operand() {
    return {major, swizzle, std::uint32_t(row_pitch), std::uint32_t(block_bytes)};
  }
  /// The matrix descriptor without its start address.
  static constexpr isa::SharedDescriptor descriptor() {
    return isa::SharedDescriptor::of(operand());
  }

  /// Bytes from the tile's start to element 0 of the slice that begins at `k`.
  static constexpr int slice_offset(int k) { return int(isa::slice_offset(operand(), k, T::bits)); }
  /// Bytes from the tile's start to the slice that begins at row `row` of M or N.
  static constexpr int row_offset(int row) { return int(isa::row_offset(operand(), row, T::bits)); }
};

/// A half of an operand: each CTA of a pair loads its own, and both multiply by both halves. tcgen05.mma reads the
/// peer's where it lies; wgmma wants all at hand, so there each half goes to both CTAs. The last tile of a slot.
template <class T, int MN, int K, Major major, Layout layout>
struct HalfTile : SharedTile<T, MN, K, major, layout> {
  static constexpr bool is_half = true;
};

/// The blocks that a half of an operand has side by side along K; 0 for whole tiles.
template <class Tile>
constexpr int half_blocks() {
  if constexpr (requires { Tile::is_half; }) return Tile::order == Major::K ? Tile::blocks : 1;
  else return 0;
}

/// Bytes of the other half of a tile, which this CTA has too where both CTAs hold the whole; 0 for whole tiles.
template <class Tile>
constexpr int other_half_bytes() {
  if constexpr (requires { Tile::is_half; }) return Tile::bytes;
  else return 0;
}

}  // namespace kiln::dsl
