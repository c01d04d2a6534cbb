// Shared-memory swizzles. The same XOR serves TMA, tcgen05 and wgmma: it depends on absolute address bits, so a tile is
// read correctly at any address as long as the copy and the reader use the same mode. TMA and the matrix descriptor
// number the modes differently.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kiln::isa {

/// The modes of TMA; the tcgen05 matrix descriptor knows all but the last. PTX ISA "Swizzling Modes". There is another,
/// 128B with atoms of 32 bytes in which neighbouring 8 bytes change places in every other line: which lines only the
/// manual's picture says.
enum class Swizzle : std::uint8_t { none, b32, b64, b128, b128_atom32, b128_atom64 };

/// What the 128-byte swizzle keeps together, with the codes of tensormap.replace. PTX ISA "tensormap.replace".
enum class SwizzleAtomicity : std::uint8_t { b16, b32, b32_flip8, b64 };

/// The mode that a swizzle of 16-byte atoms becomes with an atomicity; nothing for pairs that no table has.
constexpr std::optional<Swizzle> with_atomicity(Swizzle s, SwizzleAtomicity a) {
  if (a == SwizzleAtomicity::b16) return s;
  if (s != Swizzle::b128 || a == SwizzleAtomicity::b32_flip8) return std::nullopt;
  return a == SwizzleAtomicity::b32 ? Swizzle::b128_atom32 : Swizzle::b128_atom64;
}
constexpr SwizzleAtomicity atomicity(Swizzle s) {
  switch (s) {
    case Swizzle::b128_atom32: return SwizzleAtomicity::b32;
    case Swizzle::b128_atom64: return SwizzleAtomicity::b64;
    default: return SwizzleAtomicity::b16;
  }
}

constexpr std::string_view spelling(Swizzle s) {
  switch (s) {
    case Swizzle::none: return "none";
    case Swizzle::b32: return "32B";
    case Swizzle::b64: return "64B";
    case Swizzle::b128: return "128B";
    case Swizzle::b128_atom32: return "128B_atom_32B";
    case Swizzle::b128_atom64: return "128B_atom_64B";
  }
  return "";
}

/// Bytes of a row that one swizzle atom spans; 16 without a swizzle (the core matrix row).
constexpr int span_bytes(Swizzle s) {
  switch (s) {
    case Swizzle::none: return 16;
    case Swizzle::b32: return 32;
    case Swizzle::b64: return 64;
    case Swizzle::b128:
    case Swizzle::b128_atom32:
    case Swizzle::b128_atom64: return 128;
  }
  return 0;
}

/// Bytes after which the pattern repeats; a tile placed at a multiple needs no base offset.
constexpr int period_bytes(Swizzle s) {
  switch (s) {
    case Swizzle::none: return 16;
    case Swizzle::b32: return 256;
    case Swizzle::b64: return 512;
    case Swizzle::b128: return 1024;
    case Swizzle::b128_atom32: return 512;
    case Swizzle::b128_atom64: return 256;
  }
  return 0;
}

/// The bits that the mode exchanges, as a function of the absolute shared address. `base_offset` is the descriptor's
/// field; TMA always uses 0. Measured on Hopper for 128B: the key is ((address >> 7) - base_offset) & 7.
constexpr std::uint32_t swizzle_key(Swizzle s, std::uint32_t address, std::uint32_t base_offset = 0) {
  const std::uint32_t row = (address >> 7) - base_offset;
  switch (s) {
    case Swizzle::none: return 0;
    case Swizzle::b32: return (row & 1) << 4;
    case Swizzle::b64: return (row & 3) << 4;
    case Swizzle::b128: return (row & 7) << 4;
    case Swizzle::b128_atom32: return (row & 3) << 5;
    case Swizzle::b128_atom64: return (row & 1) << 6;
  }
  return 0;
}

/// Where the byte that would lie at `address` without a swizzle really lies. An involution for base offset 0.
constexpr std::uint32_t swizzled(Swizzle s, std::uint32_t address, std::uint32_t base_offset = 0) {
  return address ^ swizzle_key(s, address, base_offset);
}

}  // namespace kiln::isa
