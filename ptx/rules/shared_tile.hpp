// What a matrix descriptor finds in shared memory, against the tile that a tensor copy left there. Everything is
// counted in the tile's own terms: `row` of the box, 16-byte `piece` of a row.
//
// K may be permuted as long as A and B agree, and rows may come from wherever; so nothing here asks for one order. What
// must hold is that the lines of an operand (its rows, or its steps along K where the other dimension is contiguous)
// meet the same elements along the other dimension.
#pragma once

#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// Lines that follow each other at the distance of the layout; from then on, the descriptor's strides say how it goes
/// on.
inline constexpr int tile_group_lines = 8;

/// The piece that a line of an operand meets where its first line met `first`.
constexpr Verdict sdesc_tile_piece(int piece, int first) {
  return piece == first ? legal : breaks(Rule::sdesc_tile, piece, first);
}

/// Along one dimension of the tile that lines step along: where a piece of a line lies, and where its first piece does.
/// `core_matrices`: nothing is swizzled, so that pieces may be chosen line by line, but not eight lines further on.
constexpr Verdict sdesc_tile_line(int at, int first, bool core_matrices) {
  const int shift = at - first;
  if (shift == 0 || (core_matrices && shift % tile_group_lines != 0)) return legal;
  return breaks(Rule::sdesc_tile, at, first);
}

/// Rows from one group of `lines` to the next, in one box. Groups may be left out, not cut.
constexpr Verdict sdesc_tile_step(int rows, int lines) {
  return rows > 0 && rows % lines == 0 ? legal : breaks(Rule::sdesc_tile, rows, lines);
}

/// Lines leave a box: at its end, with none of its groups left out.
constexpr Verdict sdesc_tile_end(bool complete) { return complete ? legal : breaks(Rule::sdesc_tile); }

/// Two places of an operand are the same bytes. `broadcast`: lines, of a box that has no others.
constexpr Verdict sdesc_tile_once(bool broadcast) { return broadcast ? legal : breaks(Rule::sdesc_tile); }

/// Where along K an MMA begins, in elements, in the box of A and in the box of B.
struct KSlices {
  std::int64_t a = 0, b = 0;

  constexpr bool operator==(const KSlices&) const = default;
};

/// Two MMAs of `k` elements that add up products of the same two boxes in one accumulator: elements of A that are used
/// again meet the same elements of B, and are all elements of the MMA, as where it is executed twice.
constexpr Verdict sdesc_advance(KSlices earlier, KSlices now, std::int64_t k) {
  const std::int64_t a = now.a - earlier.a, b = now.b - earlier.b;
  const auto meets = [k](std::int64_t distance) { return -k < distance && distance < k; };
  if (!meets(a) && !meets(b)) return legal;
  if (a != b) return breaks(Rule::sdesc_advance, a, b);
  return a == 0 ? legal : breaks(Rule::sdesc_advance, a, k);
}

}  // namespace kiln::rules
