// The zero-column mask of tcgen05.mma.ws: which output columns see zeros instead of a column of B, and how far B's columns
// are shifted. PTX ISA "Zero-Column Mask Descriptor". The ISA's table and its examples disagree on which span zeroes; the
// examples and CUTLASS agree with each other, and are followed here.
#pragma once

#include <array>
#include <cstdint>

namespace kiln::isa {

/// The fields of the 64-bit descriptor.
struct ZeroMaskFields {
  std::array<std::uint8_t, 4> start{};  // [0:32): bits dropped before each part's mask begins
  std::array<bool, 4> first{};          // [32:36): whether each part begins with a zeroed run
  bool generate = false;                // bit 39; clear: nothing is zeroed
  int skip = 0;                         // [40:48) + 1: length of a zeroed run
  int use = 0;                          // [48:56) + 1: length of a used run
  int shift = 0;                        // [56:62): output column n reads column n + shift of B
  std::uint64_t reserved = 0;           // the reserved bits that are set, in place

  constexpr bool operator==(const ZeroMaskFields&) const = default;
};

inline constexpr std::uint64_t zero_mask_reserved_bits = std::uint64_t{7} << 36 | std::uint64_t{3} << 62;

constexpr ZeroMaskFields unpack_zero_mask(std::uint64_t word) {
  ZeroMaskFields f;
  for (int i = 0; i < 4; ++i) {
    f.start[std::size_t(i)] = std::uint8_t(word >> (8 * i));
    f.first[std::size_t(i)] = (word >> (32 + i) & 1) != 0;
  }
  f.generate = (word >> 39 & 1) != 0;
  f.skip = int(word >> 40 & 0xFF) + 1;
  f.use = int(word >> 48 & 0xFF) + 1;
  f.shift = int(word >> 56 & 0x3F);
  f.reserved = word & zero_mask_reserved_bits;
  return f;
}

constexpr std::uint64_t pack(const ZeroMaskFields& f) {
  std::uint64_t word = f.reserved | std::uint64_t(f.generate) << 39 | std::uint64_t((f.skip - 1) & 0xFF) << 40 |
                       std::uint64_t((f.use - 1) & 0xFF) << 48 | std::uint64_t(f.shift & 0x3F) << 56;
  for (int i = 0; i < 4; ++i)
    word |= std::uint64_t(f.start[std::size_t(i)]) << (8 * i) | std::uint64_t(f.first[std::size_t(i)]) << (32 + i);
  return word;
}

/// Parts of the mask: an accumulator of 64 or 32 rows has its columns folded into two or four lane groups.
constexpr int zero_mask_parts(int m) { return m == 32 ? 4 : m == 64 ? 2 : 1; }

/// Columns by which B may be shifted.
constexpr int zero_mask_max_shift(int m) { return m == 32 ? 16 : 32; }

/// Whether output column n of an M x N MMA sees zeros.
constexpr bool is_zeroed(const ZeroMaskFields& f, int m, int n_total, int n) {
  if (!f.generate) return false;
  const int width = n_total / zero_mask_parts(m), part = n / width;
  bool zero = f.first[std::size_t(part)];
  int left = int(f.start[std::size_t(part)]) + n % width;
  for (int run = zero ? f.skip : f.use; left >= run; run = zero ? f.skip : f.use) {
    left -= run;
    zero = !zero;
  }
  return zero;
}

static_assert(pack(unpack_zero_mask(0x0102'8037'0403'0201)) == 0x0102'8037'0403'0201);

}  // namespace kiln::isa
