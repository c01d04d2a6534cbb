// mma.sync, the matrix instruction of one warp with its operands in registers: what sm_120 has where sm_100 has
// tcgen05.mma. PTX ISA "Warp-level Matrix Instructions: mma".
#pragma once

#include "ptx/isa/modifiers.hpp"
#include "ptx/isa/tcgen05.hpp"

namespace kiln::isa {

/// The tile of one instruction, m16n8, whatever the kind.
inline constexpr int mma_sync_m = 16;
inline constexpr int mma_sync_n = 8;

/// K of one dense instruction on operands of a tcgen05 kind: m16n8k16 for f16, k8 for tf32, k32 for 8-bit containers, k64
/// for packed 4-bit elements. The same 32 bytes a row that tcgen05.mma takes.
constexpr int mma_sync_k(MmaKind kind) { return mma_k(kind); }

/// Instructions of one warp that an M x N x K tile takes.
constexpr int mma_sync_count(MmaKind kind, int m, int n, int k) {
  return (m / mma_sync_m) * (n / mma_sync_n) * (k / mma_sync_k(kind));
}

/// Row and column of the tile that register `i` (0 to 3) of lane `t` holds of a 32-bit C or D.
struct MmaSyncCell {
  int row = 0;
  int column = 0;
  constexpr bool operator==(const MmaSyncCell&) const = default;
};
constexpr MmaSyncCell mma_sync_cell(int t, int i) { return {t / 4 + 8 * (i / 2), 2 * (t % 4) + i % 2}; }

/// Row and column (k) of A that element `e` of register `r` of lane `t` holds; a register holds `per` elements, and A
/// has 8 or 16 rows. Every shape but m8n8k4 of f16 lies so. Columns of a sparse A are stored ones. PTX ISA "Matrix
/// Fragments for mma.m16n8k16" and its siblings.
constexpr MmaSyncCell mma_sync_a_cell(int t, int r, int e, int per, int rows = mma_sync_m) {
  const int blocks = rows / 8;
  return {t / 4 + 8 * (r % blocks), per * (t % 4 + 4 * (r / blocks)) + e};
}

/// Row (k) and column of B that element `e` of register `r` of lane `t` holds.
constexpr MmaSyncCell mma_sync_b_cell(int t, int r, int e, int per) { return {per * (t % 4 + 4 * r) + e, t / 4}; }

/// Where one byte of a block-scaled instruction's scales lies: in registers of lanes that {byte-id, thread-id} choose.
struct MmaSyncScalePlace {
  int lane = 0;
  int byte = 0;
  constexpr bool operator==(const MmaSyncScalePlace&) const = default;
};
/// Scale `k` of a row of A: two of four lanes hold eight rows each, and thread-id chooses which two. PTX ISA "Block
/// Scaling".
constexpr MmaSyncScalePlace mma_sync_scale_a(int row, int k, int byte_id, int thread_id) {
  return {4 * (row % 8) + 2 * thread_id + row / 8, byte_id + k};
}
/// Scale `k` of a column of B: one of four lanes, which thread-id chooses.
constexpr MmaSyncScalePlace mma_sync_scale_b(int column, int k, int byte_id, int thread_id) {
  return {4 * column + thread_id, byte_id + k};
}

}  // namespace kiln::isa
