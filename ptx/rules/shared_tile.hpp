// What a matrix descriptor reads in shared memory, against the tile that a tensor copy wrote there. Everything is
// counted in the tile's terms: `row` of the box, 16-byte `piece` of a row.
//
// K may be permuted as long as A and B agree, and rows may come from any place, so no rule here demands one order. The
// lines of an operand (its rows, or its steps along K where the other dimension is contiguous) must meet the same
// elements along the other dimension.
#pragma once

#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// Lines that follow each other at the distance of the layout. The descriptor's strides place the next group of lines.
inline constexpr int tile_group_lines = 8;

/// The piece that a line of an operand meets where its first line met `first`.
constexpr Verdict sdesc_tile_piece(int piece, int first) {
  return piece == first ? legal : breaks(Rule::sdesc_tile, piece, first);
}

/// Along a dimension in which lines step: where a piece of a line lies, and where its first piece lies.
/// `core_matrices`: nothing is swizzled; a piece may then lie elsewhere, but not a multiple of eight lines away.
constexpr Verdict sdesc_tile_line(int at, int first, bool core_matrices) {
  const int shift = at - first;
  if (shift == 0 || (core_matrices && shift % tile_group_lines != 0)) return legal;
  return breaks(Rule::sdesc_tile, at, first);
}

/// Rows from one group of `lines` to the next, in one box. A group may be skipped, but not cut.
constexpr Verdict sdesc_tile_step(int rows, int lines) {
  return rows > 0 && rows % lines == 0 ? legal : breaks(Rule::sdesc_tile, rows, lines);
}

/// Lines leave a box. `complete`: at its end, with none of its groups skipped.
constexpr Verdict sdesc_tile_end(bool complete) { return complete ? legal : breaks(Rule::sdesc_tile); }

/// Two places of an operand are the same bytes. `broadcast`: they are lines of a box that has no other lines.
constexpr Verdict sdesc_tile_once(bool broadcast) { return broadcast ? legal : breaks(Rule::sdesc_tile); }

/// Where along K an MMA begins, in elements, in the box of A and in the box of B.
struct KSlices {
  std::int64_t a = 0, b = 0;

  constexpr bool operator==(const KSlices&) const = default;
};

/// Two MMAs of `k` elements that accumulate products of the same two boxes. If they share elements of A, they must
/// share all of them and meet the same elements of B: the MMA is then executed twice.
constexpr Verdict sdesc_advance(KSlices earlier, KSlices now, std::int64_t k) {
  const std::int64_t a = now.a - earlier.a, b = now.b - earlier.b;
  const auto meets = [k](std::int64_t distance) { return -k < distance && distance < k; };
  if (!meets(a) && !meets(b)) return legal;
  if (a != b) return breaks(Rule::sdesc_advance, a, b);
  return a == 0 ? legal : breaks(Rule::sdesc_advance, a, k);
}

}  // namespace kiln::rules
