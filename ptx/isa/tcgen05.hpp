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

/// K elements of one instruction, counted before A is compressed. `wide`: twice of them, on sm_107.
constexpr int mma_k(MmaKind kind, bool sparse = false, bool k96 = false, bool wide = false) {
  int k = 0;
  switch (kind) {
    case MmaKind::tf32: k = 8; break;
    case MmaKind::f16: case MmaKind::ti16: k = 16; break;
    case MmaKind::f8f6f4: case MmaKind::i8: case MmaKind::mxf8f6f4: k = 32; break;
    case MmaKind::mxf4: case MmaKind::mxf4nvf4: k = k96 ? 96 : 64; break;
    case MmaKind::none: return 0;
  }
  return k * (sparse ? 2 : 1) * (wide ? 2 : 1);
}
inline constexpr int mma_k_bytes = 32;

/// Bytes along K that one MMA reads of each row of A, and of each column of B, which is never compressed.
constexpr int a_k_bytes(bool k96, bool wide = false) { return k96 ? 48 : wide ? 2 * mma_k_bytes : mma_k_bytes; }
constexpr int b_k_bytes(bool sparse, bool k96, bool wide = false) {
  return (sparse ? 2 : 1) * a_k_bytes(k96 && !sparse, wide);
}

/// Bits that one stored element takes in shared memory under a kind: sub-byte types of the mixed kinds live in bytes.
constexpr int container_bits(MmaKind kind) {
  switch (kind) {
    case MmaKind::tf32: return 32;
    case MmaKind::f16: case MmaKind::ti16: return 16;
    case MmaKind::mxf4: case MmaKind::mxf4nvf4: return 4;
    default: return 8;
  }
}

/// Bits of an element that tcgen05.cp widens to a byte; 0 without decompression. Sixteen of them lie packed at the front
/// of 16 bytes. PTX ISA "tcgen05.cp, Optional Decompression".
constexpr int source_bits(CpSourceFormat f) {
  return f == CpSourceFormat::b6x16_p32 ? 6 : f == CpSourceFormat::b4x16_p64 ? 4 : 0;
}

}  // namespace kiln::isa
