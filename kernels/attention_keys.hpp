// Which keys the rows of a CTA see, and in how many blocks those are: of attention by tcgen05. For kernels/*.cpp alone.
#pragma once

#include "kernels/gemm.hpp"

namespace kiln::kernels {

/// Rows of a tile of scores, and keys of a block.
inline constexpr int attention_rows = 128, attention_keys = 128;

struct AllKeys {
  dsl::U32 n, blocks;

  /// How many of a block's keys and those after it this thread's row sees.
  dsl::U32 left(dsl::Warpgroup&, const dsl::U32& block) const { return n - block * attention_keys; }
  /// Only the last block may have keys that are not there.
  dsl::Pred cuts(const dsl::U32& block) const { return block + 1 >= blocks; }
  /// The same of the tile that so many come before in the CTA.
  AllKeys of_tile(int) const { return *this; }
};

/// The rows are the last of as many positions as there are keys, and see none that come later than their own.
struct KeysSoFar {
  dsl::U32 row, before, blocks;  // the first row; how many keys the row 0 sees; blocks of all rows
  int tiles, tile = 0;           // of rows: that the CTA has, and which of them this is

  KeysSoFar(const dsl::U32& row, const dsl::U32& m, const dsl::U32& n, const dsl::U32& all_blocks, int tiles = 1)
      : row(row),
        before(n - m + 1),
        blocks(min((n - m + row + 1 + (tiles * attention_rows - 1 + attention_keys - 1)) / attention_keys, all_blocks)),
        tiles(tiles) {}

  dsl::U32 left(dsl::Warpgroup& g, const dsl::U32& block) const {
    const dsl::U32 end = before + (row + (g.row() + tile * attention_rows)), first = block * attention_keys;
    return select(first < end, end - first, 0);
  }
  /// The last keys of a tile's rows lie in two blocks at most.
  dsl::Pred cuts(const dsl::U32& block) const { return block + (tiles + 1) >= blocks; }
  KeysSoFar of_tile(int number) const {
    KeysSoFar keys(*this);
    keys.tile = number;
    return keys;
  }
};

}  // namespace kiln::kernels
