// Shapes of the tcgen05 matrix instructions: which M, N and K each kind has. PTX ISA "Matrix Shape".
#pragma once

#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/isa/modifiers.hpp"

namespace kiln::isa {

/// The two M that a dense or sparse (not .ws) MMA may have; over both CTAs for cta_group::2.
struct MmaRows {
  int small = 0;
  int large = 0;
};
/// Block-scaled kinds have no M = 64 and, sparse, no M = 128 over two CTAs.
constexpr MmaRows mma_rows(CtaGroup g, MmaKind kind = MmaKind::none, bool sparse = false) {
  const bool scaled = is_block_scaled(kind);
  if (g == CtaGroup::two) return scaled && sparse ? MmaRows{256, 256} : MmaRows{128, 256};
  return scaled ? MmaRows{128, 128} : MmaRows{64, 128};
}

/// N goes from `first` to 256 in steps of `step`.
struct MmaColumns {
  int first = 0;
  int step = 0;
};
inline constexpr int mma_max_n = 256;

/// `byte_mn_major_b`: B has 8-bit elements and is N-major, which doubles the step.
constexpr MmaColumns mma_columns(MmaKind kind, CtaGroup g, bool byte_mn_major_b = false) {
  if (kind == MmaKind::i8 && g == CtaGroup::two) return {32, 32};
  const int step = (g == CtaGroup::two ? 16 : 8) * (byte_mn_major_b ? 2 : 1);
  return {step, step};
}

/// K elements of one instruction. An operand's stored K extent is always 32 bytes (48 for K = 96).
constexpr int mma_k(MmaKind kind, bool sparse = false, bool k96 = false) {
  int k = 0;
  switch (kind) {
    case MmaKind::tf32: k = 8; break;
    case MmaKind::f16: k = 16; break;
    case MmaKind::f8f6f4: case MmaKind::i8: case MmaKind::mxf8f6f4: k = 32; break;
    case MmaKind::mxf4: case MmaKind::mxf4nvf4: k = k96 ? 96 : 64; break;
    case MmaKind::none: return 0;
  }
  return sparse ? 2 * k : k;
}
inline constexpr int mma_k_bytes = 32;

/// Scales of a row that one block-scaled instruction reads, one for each 32 or 16 stored elements along K; 0 for kinds
/// without. PTX ISA "tcgen05, Block Scaling".
constexpr int scales_per_row(MmaKind kind, ScaleVector vector, bool k96 = false) {
  if (!is_block_scaled(kind)) return 0;
  const bool fine = vector == ScaleVector::x4 || vector == ScaleVector::block16;
  return mma_k(kind, false, k96) / (fine ? 16 : 32);
}

/// Bits that one stored element takes in shared memory under a kind: sub-byte types of the mixed kinds live in bytes.
constexpr int container_bits(MmaKind kind) {
  switch (kind) {
    case MmaKind::tf32: return 32;
    case MmaKind::f16: return 16;
    case MmaKind::mxf4: case MmaKind::mxf4nvf4: return 4;
    default: return 8;
  }
}

}  // namespace kiln::isa
