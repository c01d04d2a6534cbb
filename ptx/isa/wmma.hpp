// Fragments of wmma. PTX leaves open which element a register holds, so any choice is right that load, store and mma
// share; here it is that of mma.sync, tile after tile. PTX ISA "Warp-level Matrix Instructions Using wmma".
#pragma once

#include "ptx/isa/mma_sync.hpp"

namespace kiln::isa {

/// Rows of one tile of A, C or D.
constexpr int wmma_tile_rows(int rows) { return rows < mma_sync_m ? rows : mma_sync_m; }

/// Row and column (k) of A (`rows` x `k`) that element `e` of register `r` of lane `t` holds, `per` to a register.
/// Registers beyond the fragment, which A and B of f16 have, repeat it.
constexpr MmaSyncCell wmma_a_cell(int t, int r, int e, int per, int rows, int k) {
  const int height = wmma_tile_rows(rows), registers = height * k / per / 32;
  const MmaSyncCell c = mma_sync_a_cell(t, r % registers, e, per, height);
  return {c.row + r / registers % (rows / height) * height, c.column};
}

/// Row (k) and column of B (`k` x `columns`).
constexpr MmaSyncCell wmma_b_cell(int t, int r, int e, int per, int columns, int k) {
  const int registers = mma_sync_n * k / per / 32;
  const MmaSyncCell c = mma_sync_b_cell(t, r % registers, e, per);
  return {c.row, c.column + r / registers % (columns / mma_sync_n) * mma_sync_n};
}

/// Row and column of C or D (`rows` high) that element `i` of lane `t` is.
constexpr MmaSyncCell wmma_cell(int t, int i, int rows) {
  const int height = wmma_tile_rows(rows), elements = height / 4, tile = i / elements, tiles = rows / height;
  const MmaSyncCell c = mma_sync_cell(t, i % elements);
  return {c.row + tile % tiles * height, c.column + tile / tiles * mma_sync_n};
}

}  // namespace kiln::isa
