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

}  // namespace kiln::isa
