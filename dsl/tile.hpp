// Shared-memory tiles: how many bytes, where each piece lies, which TMA boxes fill it, and the constant part of the
// matrix descriptor that reads it. All of it follows from element type, extents, major and layout, once as a value
// (TileShape) and once as a type (SharedTile), which asks the value while compiling.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include <algorithm>
#include <cstdint>

#include "dsl/types.hpp"
#include "ptx/isa/shared_descriptor.hpp"
#include "ptx/isa/tma.hpp"
#include "ptx/rules/shared_memory.hpp"
#include "ptx/rules/tcgen05_shape.hpp"
#include "ptx/rules/tma.hpp"

namespace kiln::dsl {

/// Tiles are placed at multiples of the longest swizzle period, so no descriptor needs a base offset.
inline constexpr int tile_placement = isa::period_bytes(isa::Swizzle::b128);
/// The bytes that something takes when what follows is placed so.
constexpr int placed_bytes(int bytes) { return (bytes + tile_placement - 1) / tile_placement * tile_placement; }

/// Which CTAs of a cluster multiply by a tile: the one that loads it; both of its pair, each loading its own half of an
/// operand; or those of its rank in all pairs, each loading its own part.
enum class Readers : unsigned char { own_cta, both_ctas, all_pairs };

/// What a slot of a ring holds, or a part of it: bytes of shared memory, and those that its copies add to an mbarrier's
/// transaction count.
struct SlotPart {
  int bytes = 0;
  int transaction_bytes = 0;
  Readers readers = Readers::own_cta;
  int blocks_along_k = 1;  // of a tile, side by side
};

/// How TMA boxes make up a tile.
struct TilePieces {
  int blocks, row_pieces;        // boxes along and across the contiguous dimension
  int block_bytes, piece_bytes;  // from one to the next in shared memory
  int box_inner, box_outer;      // and in the tensor, elements
};

/// A tile of `rows` (of M or N) by `cols` (of K) elements. A row longer than the swizzle span is cut into blocks of one
/// span, each block holding all rows; TMA fills a block with one copy, or more where it has over 256 rows. Structural.
struct TileShape {
  ElementType element{};
  int rows = 0, cols = 0;
  Major order = Major::K;  // which extent is contiguous
  Layout form = Layout::packed;
  Readers readers = Readers::own_cta;
  int whole = 0;  // of a slice of several spans: the outer extent of the tile that it is of; 0: no slice

  constexpr bool operator==(const TileShape&) const = default;

  constexpr isa::Swizzle swizzle() const { return swizzle_of(form); }
  constexpr int inner() const { return order == Major::K ? cols : rows; }  // elements along the contiguous dimension
  constexpr int outer() const { return order == Major::K ? rows : cols; }
  constexpr int inner_bytes() const { return inner() * element.bits / 8; }
  constexpr int span() const { return form == Layout::packed ? inner_bytes() : isa::span_bytes(swizzle()); }
  constexpr int blocks() const { return inner_bytes() <= span() ? 1 : inner_bytes() / span(); }
  /// Bytes from a row of a block to the next; a narrower row still takes a whole span (measured on Hopper).
  constexpr int row_pitch() const { return span(); }
  /// Bytes from a block to the next; those of a slice lie as far apart as the tile's.
  constexpr int block_bytes() const { return (whole ? whole : outer()) * row_pitch(); }
  constexpr int bytes() const { return (blocks() - 1) * block_bytes() + outer() * row_pitch(); }
  /// What the copies of one tile add to an mbarrier's transaction count: the elements, without padding.
  constexpr int transaction_bytes() const { return outer() * inner() * element.packed_bits / 8; }
  constexpr int alignment() const { return std::max(isa::tma_shared_alignment, isa::period_bytes(swizzle())); }

  // The TMA box: one block, or a part of its rows.
  constexpr int box_inner() const { return inner() / blocks(); }
  constexpr int box_rows_pieces() const { return (outer() + isa::tma_max_box - 1) / isa::tma_max_box; }
  constexpr int box_outer() const { return outer() / box_rows_pieces(); }
  constexpr TilePieces pieces() const {
    return {blocks(), box_rows_pieces(), block_bytes(), box_outer() * row_pitch(), box_inner(), box_outer()};
  }
  constexpr SlotPart part() const {
    return {bytes(), transaction_bytes(), readers, order == Major::K ? blocks() : 1};
  }

  constexpr rules::Verdict check() const {
    using namespace rules;
    const Verdict span_rule = form == Layout::packed ? legal : tile_span(swizzle(), inner_bytes());
    const std::int64_t box_bytes = std::int64_t(box_inner()) * element.bits / 8;
    return first(span_rule, tma_inner_bytes(box_bytes), tma_box(box_inner()),
                 tma_box(outer() % box_rows_pieces() == 0 ? box_outer() : outer()),
                 tma_inner_span(swizzle(), box_bytes));
  }

  constexpr isa::OperandTile operand() const {
    return {order, swizzle(), std::uint32_t(row_pitch()), std::uint32_t(block_bytes())};
  }
  /// The matrix descriptor without its start address.
  constexpr isa::SharedDescriptor descriptor() const { return isa::SharedDescriptor::of(operand()); }
  /// What a slice of it tells the rules of MMAs.
  constexpr rules::MmaOperand mma_operand() const {
    return {false, element.scalar, element.bits, rows, cols, order, swizzle()};
  }

  /// Elements along K of one MMA's slice.
  constexpr int slice_extent() const { return isa::mma_k_bytes * 8 / element.bits; }
  /// Bytes from the tile's start to element 0 of the slice that begins at `k`.
  constexpr int slice_offset(int k) const { return int(isa::slice_offset(operand(), k, element.bits)); }
  /// Bytes from the tile's start to the slice that begins at row `row` of M or N.
  constexpr int row_offset(int row) const { return int(isa::row_offset(operand(), row, element.bits)); }
};

/// An MN x K tile of T, as a type. K_major: K is contiguous. `whole`: as TileShape::whole.
template <class T, int MN, int K, Major major, Layout layout, Readers readers = Readers::own_cta, int whole = 0>
struct SharedTile {
  static constexpr TileShape shape{element_type<T>, MN, K, major, layout, readers, whole};
  using Required = decltype(rules::require<shape.check()>());  // a static_assert would make clang say it three times

  using element = T;
  static constexpr int rows = MN;
  static constexpr int cols = K;
  static constexpr Major order = major;
  static constexpr Layout form = layout;
  static constexpr isa::Swizzle swizzle = shape.swizzle();
  static constexpr int bytes = shape.bytes();
  static constexpr int transaction_bytes = shape.transaction_bytes();
  static constexpr int alignment = shape.alignment();
  static constexpr int row_pitch = shape.row_pitch(), block_bytes = shape.block_bytes(), blocks = shape.blocks();
  static constexpr int box_inner = shape.box_inner(), box_outer = shape.box_outer();
  static constexpr SlotPart part = shape.part();
  static constexpr isa::SharedDescriptor descriptor() { return shape.descriptor(); }
};

}  // namespace kiln::dsl
