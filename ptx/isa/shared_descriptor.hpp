// The 64-bit shared-memory matrix descriptor of tcgen05.mma and tcgen05.cp, and the address function it stands for.
// PTX ISA "Shared memory descriptor", "Matrix Layout in Shared Memory".
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/isa/swizzle.hpp"

namespace kiln::isa {

/// The descriptor's fields in bytes, where the word holds them divided by 16. `swizzle_code` stays a code because some
/// codes mean nothing.
struct SharedDescriptorFields {
  std::uint32_t start = 0;           // [0:14) << 4
  std::uint32_t leading = 0;         // LBO, [16:30) << 4
  std::uint32_t stride = 0;          // SBO, [32:46) << 4
  std::uint8_t version = 1;          // [46:49), always 1 on Blackwell
  std::uint8_t base_offset = 0;      // [49:52)
  bool leading_is_absolute = false;  // bit 52
  std::uint8_t swizzle_code = 0;     // [61:64)
  std::uint64_t reserved = 0;        // the reserved bits that are set, in place

  constexpr bool operator==(const SharedDescriptorFields&) const = default;
};

/// Addresses above this do not fit the descriptor (14 bits of 16-byte units).
inline constexpr std::uint32_t descriptor_address_mask = 0x3FFFF;
inline constexpr int descriptor_unit_bytes = 16;
inline constexpr std::uint8_t descriptor_version = 1;

constexpr std::uint64_t pack(const SharedDescriptorFields& f) {
  const auto units = [](std::uint32_t bytes) { return std::uint64_t(bytes & descriptor_address_mask) >> 4; };
  return units(f.start) | units(f.leading) << 16 | units(f.stride) << 32 | std::uint64_t(f.version) << 46 |
         std::uint64_t(f.base_offset) << 49 | std::uint64_t(f.leading_is_absolute) << 52 |
         std::uint64_t(f.swizzle_code) << 61 | f.reserved;
}

inline constexpr std::uint64_t descriptor_reserved_bits =
    std::uint64_t{3} << 14 | std::uint64_t{3} << 30 | std::uint64_t{0xFF} << 53;

/// Bits that only sm_107 has: a start address and a leading offset of 15 bits, and the half of a block of tables.
inline constexpr std::uint64_t sdesc_bits_of_sm_107 = 1ull << 14 | 1ull << 30 | 1ull << 53;

constexpr SharedDescriptorFields unpack_shared(std::uint64_t word) {
  const auto bytes = [word](int at) { return std::uint32_t(word >> at & 0x3FFF) << 4; };
  SharedDescriptorFields f;
  f.start = bytes(0);
  f.leading = bytes(16);
  f.stride = bytes(32);
  f.version = std::uint8_t(word >> 46 & 7);
  f.base_offset = std::uint8_t(word >> 49 & 7);
  f.leading_is_absolute = (word >> 52 & 1) != 0;
  f.swizzle_code = std::uint8_t(word >> 61 & 7);
  f.reserved = word & descriptor_reserved_bits;
  return f;
}

/// The descriptor's number for a swizzle (TMA numbers them differently).
constexpr std::uint8_t descriptor_code(Swizzle s) {
  switch (s) {
    case Swizzle::none: return 0;
    case Swizzle::b128_atom32: return 1;
    case Swizzle::b128: return 2;
    case Swizzle::b64: return 4;
    case Swizzle::b32: return 6;
    case Swizzle::b128_atom64: return 7;  // a mode of TMA alone; no descriptor may have this code
  }
  return 0;
}

constexpr std::optional<Swizzle> descriptor_swizzle(std::uint8_t code) {
  for (Swizzle s : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128, Swizzle::b128_atom32})
    if (descriptor_code(s) == code) return s;
  return std::nullopt;
}

/// How an operand tile lies: rows of `row_pitch` bytes, cut into blocks of one swizzle span (16 bytes without a
/// swizzle).
struct OperandTile {
  Major major = Major::K;
  Swizzle swizzle = Swizzle::none;
  std::uint32_t row_pitch = 0;
  std::uint32_t block_bytes = 0;  // from a block to the next
};

/// Bytes from the tile's start to the slice of an MMA that begins at element `k` of so many bits.
constexpr std::uint32_t slice_offset(const OperandTile& t, int k, int element_bits) {
  if (t.major == Major::MN) return std::uint32_t(k) * t.row_pitch;
  const auto byte = std::uint32_t(k * element_bits / 8);
  return byte / t.row_pitch * t.block_bytes + byte % t.row_pitch;
}

/// Bytes from a tile's start to the slice of it that begins at row `row` of M or N.
constexpr std::uint32_t row_offset(const OperandTile& t, int row, int element_bits) {
  if (t.major == Major::K) return std::uint32_t(row) * t.row_pitch;
  const auto byte = std::uint32_t(row * element_bits / 8);
  return byte / t.row_pitch * t.block_bytes + byte % t.row_pitch;
}

/// A matrix descriptor as a value, without its start address. Made of a tile's layout, or of a word by raw().
class SharedDescriptor {
 public:
  static constexpr SharedDescriptor of(const OperandTile& t) {
    SharedDescriptorFields d;
    d.swizzle_code = descriptor_code(t.swizzle);
    const bool columns = t.swizzle == Swizzle::none, k_major = t.major == Major::K;
    const std::uint32_t eight_rows = 8 * t.row_pitch;
    // Without a swizzle, the offsets of the two majors change places.
    d.leading = columns && !k_major ? eight_rows : t.block_bytes;
    d.stride = columns && !k_major ? t.block_bytes : eight_rows;
    // 32-byte atoms repeat after four rows.
    if (t.swizzle == Swizzle::b128_atom32) d.stride /= 2;
    if (!columns && k_major) d.leading = 0;  // not read
    return SharedDescriptor(pack(d));
  }
  /// A word that came from elsewhere. Nothing is checked.
  static constexpr SharedDescriptor raw(std::uint64_t word) { return SharedDescriptor(word); }

  constexpr std::uint64_t word() const { return word_; }
  constexpr SharedDescriptorFields fields() const { return unpack_shared(word_); }
  /// The same for a tile that begins at a shared address.
  constexpr SharedDescriptor at(std::uint32_t address) const {
    SharedDescriptorFields f = fields();
    f.start = address & descriptor_address_mask;
    return SharedDescriptor(pack(f));
  }
  constexpr bool operator==(const SharedDescriptor&) const = default;

 private:
  explicit constexpr SharedDescriptor(std::uint64_t word) : word_(word) {}
  std::uint64_t word_;
};

/// The shared address of byte `k_byte` of row `mn` of a K-major operand, within one MMA. `k_byte` counts stored bytes
/// along K from the start of the instruction's K extent. An absolute leading dimension (K = 96, 128-byte swizzle) is
/// the address where a row continues after its line of one span.
constexpr std::uint32_t k_major_address(const SharedDescriptorFields& d, Swizzle s, int mn, int k_byte) {
  const auto row = std::uint32_t(mn), byte = std::uint32_t(k_byte);
  std::uint32_t linear = d.start + row / 8 * d.stride;
  if (s == Swizzle::none) {
    linear += row % 8 * 16 + byte / 16 * d.leading + byte % 16;
  } else {
    const auto span = std::uint32_t(span_bytes(s)), in_line = d.start % span + byte;
    const bool elsewhere = d.leading_is_absolute && in_line >= span;
    linear += row % 8 * span + byte;
    if (elsewhere) linear = d.leading + row / 8 * d.stride + row % 8 * span + in_line - span;
  }
  return swizzled(s, linear, d.base_offset);
}

/// Bytes of shared memory from `first` up to `end`.
struct AddressSpan {
  std::uint32_t first = 0, end = 0;
};

/// A span that holds all of `rows` rows from `mn` on of a K-major operand with `k_bytes` bytes along K, and less than
/// 256 bytes beside them: a swizzle turns bytes around within 128 aligned ones. For rows that stay in their lines (no
/// absolute leading dimension).
constexpr AddressSpan k_major_span(const SharedDescriptorFields& d, Swizzle s, int mn, int rows, int k_bytes) {
  const auto row = std::uint32_t(mn), last = row + std::uint32_t(rows) - 1, bytes = std::uint32_t(k_bytes);
  const auto line = std::uint32_t(span_bytes(s));
  const std::uint32_t along_k = s == Swizzle::none ? (bytes - 1) / 16 * d.leading + 16 : bytes;
  const std::uint32_t first = d.start + row / 8 * d.stride, end = d.start + last / 8 * d.stride + 7 * line + along_k;
  return {first & ~127u, (end + 127) & ~127u};
}

/// The shared address of element (mn, k) of an MN-major operand of `element_bytes` (1, 2 or 4), within one MMA.
constexpr std::uint32_t mn_major_address(const SharedDescriptorFields& d, Swizzle s, int element_bytes, int mn, int k) {
  const auto row = std::uint32_t(mn), kk = std::uint32_t(k), es = std::uint32_t(element_bytes);
  std::uint32_t linear = d.start;
  if (s == Swizzle::none) {
    const std::uint32_t t = 16 / es;
    linear += row % t * es + row / t * d.stride + kk % 8 * 16 + kk / 8 * d.leading;
  } else {
    const auto span = std::uint32_t(span_bytes(s)), per_atom = span / es;
    const std::uint32_t k_rows = s == Swizzle::b128_atom32 ? 4 : 8;
    linear += row % per_atom * es + row / per_atom * d.leading + kk % k_rows * span + kk / k_rows * d.stride;
  }
  return swizzled(s, linear, d.base_offset);
}

}  // namespace kiln::isa
