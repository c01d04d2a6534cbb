// wgmma.mma_async, the matrix instruction of four warps (sm_90a): fragments in registers and the descriptor of operands
// in shared memory. PTX ISA "Asynchronous Warpgroup Level Matrix Instructions".
#pragma once

#include <cstdint>

#include "ptx/isa/mma_sync.hpp"
#include "ptx/isa/shared_descriptor.hpp"

namespace kiln::isa {

inline constexpr int wgmma_m = 64;
inline constexpr int warps_per_warpgroup = 4;
/// Products of 8-bit floats, and their sum, are cut at 2^-13 of the largest (docs/tolerance.md has the sources).
inline constexpr int wgmma_fp8_width = 13;
/// Rows of A and D that one warp of the four has: those of an mma.sync.
inline constexpr int wgmma_warp_rows = wgmma_m / warps_per_warpgroup;
static_assert(wgmma_warp_rows == mma_sync_m);

/// Row (of the warp's 16) and column of D that element `i` of lane `t` is; 32-bit elements fill a register each, f16
/// half of one. Every eight columns lie as in mma.sync.
constexpr MmaSyncCell wgmma_d_cell(int t, int i) {
  const MmaSyncCell c = mma_sync_cell(t, i % 4);
  return {c.row, c.column + mma_sync_n * (i / 4)};
}

/// The fields of a 64-bit matrix descriptor of wgmma. It is tcgen05's without version and absolute offsets, and its
/// swizzle has two bits.
constexpr SharedDescriptorFields unpack_wgmma(std::uint64_t word) {
  constexpr std::uint64_t reserved =
      std::uint64_t{3} << 14 | std::uint64_t{3} << 30 | std::uint64_t{7} << 46 | std::uint64_t{0x3FF} << 52;
  SharedDescriptorFields f = unpack_shared(word);
  f.version = 0;
  f.leading_is_absolute = false;
  f.swizzle_code = std::uint8_t(word >> 62);
  f.reserved = word & reserved;
  return f;
}

/// Instructions in which `n` columns are multiplied. ptxas (13.0) refuses one whose sums are nearly all registers that
/// a launch of 16 warps gives a thread, whatever setmaxnreg says: 256 columns, not 192.
constexpr int wgmma_parts(int n) {
  constexpr int most_columns = 192;
  return (n + most_columns - 1) / most_columns;
}
/// Columns of one of them.
constexpr int wgmma_columns(int n) { return n / wgmma_parts(n); }

/// Whether operands of a type may lie MN-major in shared memory: the instruction says so itself, and only for 16 bits.
constexpr bool wgmma_transposes(ScalarType t) { return t == ScalarType::f16 || t == ScalarType::bf16; }

/// The swizzle that a wgmma descriptor's code means; every code has one.
constexpr Swizzle wgmma_swizzle(std::uint8_t code) {
  constexpr Swizzle by_code[] = {Swizzle::none, Swizzle::b128, Swizzle::b64, Swizzle::b32};
  return by_code[code & 3];
}

/// The descriptor word of an operand at a shared address.
constexpr std::uint64_t pack_wgmma(const SharedDescriptorFields& f, Swizzle swizzle) {
  SharedDescriptorFields plain = f;
  plain.version = 0, plain.swizzle_code = 0, plain.leading_is_absolute = false, plain.reserved = 0;
  std::uint64_t code = 0;
  while (wgmma_swizzle(std::uint8_t(code)) != swizzle) ++code;
  return pack(plain) | code << 62;
}

/// What tcgen05 reads through this descriptor, for wgmma. There is none for a swizzle that wgmma lacks.
constexpr std::uint64_t wgmma_word(SharedDescriptor d) {
  const std::optional<Swizzle> swizzle = descriptor_swizzle(d.fields().swizzle_code);
  return swizzle && *swizzle != Swizzle::b128_atom32 ? pack_wgmma(d.fields(), *swizzle) : 0;
}

}  // namespace kiln::isa
