// The 32-bit instruction descriptor of tcgen05.mma: shape, types, majors and signs. PTX ISA "Instruction Descriptor".
// Only bit layout here; whether a value is legal is asked in ptx/rules.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/isa/modifiers.hpp"
#include "ptx/isa/types.hpp"

namespace kiln::isa {

/// Which operand dimension is contiguous in memory.
enum class Major : std::uint8_t { K, MN };

/// The fields of the descriptor, raw: codes, not types. One struct for both layouts; the block-scaled kinds use
/// sfa_id/sfb_id/scale_format/k96 where the others use selector/saturate/d_type/max_shift.
struct InstructionDescriptorFields {
  std::uint8_t selector = 0;      // sparsity selector [0:2)
  bool sparse = false;            // bit 2
  bool saturate = false;          // bit 3
  std::uint8_t d_type = 0;        // [4:6)
  std::uint8_t sfb_id = 0;        // [4:6) of block-scaled kinds
  std::uint8_t a_type = 0;        // [7:10)
  std::uint8_t b_type = 0;        // [10:13)
  bool negate_a = false;          // bit 13
  bool negate_b = false;          // bit 14
  Major a_major = Major::K;       // bit 15
  Major b_major = Major::K;       // bit 16
  int n = 0;                      // [17:23) holds N >> 3
  std::uint8_t scale_format = 0;  // [23:25) of block-scaled kinds; before sm_107 bit 23 alone
  int m = 0;                      // [24:29) holds M >> 4, of block-scaled kinds without bit 24
  std::uint8_t sfa_id = 0;        // [29:31) of block-scaled kinds
  std::uint8_t max_shift = 0;     // [30:32), .ws only
  bool k96 = false;               // bit 31 of mxf4 and mxf4nvf4
  bool wide = false;              // K of 64 bytes, on sm_107: bit 29 of f8f6f4, 31 of mxf8f6f4, 3 of mxf4 and mxf4nvf4
  std::uint32_t reserved = 0;     // the reserved bits that are set, in place

  constexpr bool operator==(const InstructionDescriptorFields&) const = default;
};

constexpr bool is_block_scaled(MmaKind k) {
  return k == MmaKind::mxf8f6f4 || k == MmaKind::mxf4 || k == MmaKind::mxf4nvf4;
}

/// The bit that doubles K on sm_107, from 32 bytes to 64; no other target has it. 0: the kind has none. CUTLASS,
/// mma_sm107_desc.hpp.
constexpr std::uint32_t idesc_wide_bit(MmaKind kind) {
  switch (kind) {
    case MmaKind::f8f6f4: return 1u << 29;
    case MmaKind::mxf8f6f4: return 1u << 31;
    case MmaKind::mxf4: case MmaKind::mxf4nvf4: return 1u << 3;
    default: return 0;
  }
}

/// The bits that a kind's layout reserves on every target.
constexpr std::uint32_t idesc_reserved_bits(MmaKind kind) {
  const std::uint32_t bits = is_block_scaled(kind) ? 1u << 3 | 1u << 6 : 1u << 6 | 1u << 23 | 1u << 29;
  return bits & ~idesc_wide_bit(kind);
}

/// Of a layout's bits those that mean on sm_107 what Kiln does not follow: larger K, the layout of A's scales, the version
/// of sparsity. A word without them means there what it means elsewhere. CUTLASS, mma_sm107_desc.hpp.
constexpr std::uint32_t idesc_bits_of_sm_107(MmaKind kind) {
  switch (kind) {
    case MmaKind::f8f6f4: return 1u << 29;
    case MmaKind::mxf8f6f4: return 1u << 26 | 1u << 31;
    case MmaKind::mxf4: case MmaKind::mxf4nvf4: return 1u << 3 | 1u << 12 | 1u << 26 | 1u << 31;
    default: return 0;
  }
}

/// Whether a word says on sm_107 what Kiln does not follow. CUTLASS writes bit 12 for every sparse MMA of packed 4-bit
/// elements there, so of those no word is followed.
constexpr bool says_more_on_sm_107(std::uint32_t word, MmaKind kind, bool sparse) {
  const bool packed = kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4;
  return (word & idesc_bits_of_sm_107(kind)) != 0 || (packed && sparse);
}

constexpr std::uint32_t pack(const InstructionDescriptorFields& f, MmaKind kind) {
  std::uint32_t word = std::uint32_t(f.selector) | std::uint32_t(f.sparse) << 2 | std::uint32_t(f.a_type) << 7 |
                       std::uint32_t(f.b_type) << 10 | std::uint32_t(f.negate_a) << 13 |
                       std::uint32_t(f.negate_b) << 14 | std::uint32_t(f.a_major == Major::MN) << 15 |
                       std::uint32_t(f.b_major == Major::MN) << 16 | (std::uint32_t(f.n) >> 3) << 17 |
                       (std::uint32_t(f.m) >> 4) << 24 | (f.wide ? idesc_wide_bit(kind) : 0) | f.reserved;
  if (is_block_scaled(kind))
    return word | std::uint32_t(f.sfb_id) << 4 | std::uint32_t(f.scale_format) << 23 | std::uint32_t(f.sfa_id) << 29 |
           std::uint32_t(f.k96) << 31;
  return word | std::uint32_t(f.saturate) << 3 | std::uint32_t(f.d_type) << 4 | std::uint32_t(f.max_shift) << 30;
}

constexpr InstructionDescriptorFields unpack(std::uint32_t word, MmaKind kind) {
  const auto bits = [word](int at, int width) { return std::uint8_t(word >> at & ((1u << width) - 1)); };
  InstructionDescriptorFields f;
  f.selector = bits(0, 2);
  f.sparse = bits(2, 1) != 0;
  f.a_type = bits(7, 3);
  f.b_type = bits(10, 3);
  f.negate_a = bits(13, 1) != 0;
  f.negate_b = bits(14, 1) != 0;
  f.a_major = bits(15, 1) ? Major::MN : Major::K;
  f.b_major = bits(16, 1) ? Major::MN : Major::K;
  f.n = bits(17, 6) << 3;
  f.m = bits(24, 5) << 4;
  if (is_block_scaled(kind)) {
    f.sfb_id = bits(4, 2);
    f.scale_format = bits(23, 2);
    f.m &= ~(1 << 4);
    f.sfa_id = bits(29, 2);
    f.k96 = kind != MmaKind::mxf8f6f4 && bits(31, 1) != 0;
  } else {
    f.saturate = bits(3, 1) != 0;
    f.d_type = bits(4, 2);
    f.max_shift = bits(30, 2);
  }
  f.wide = (word & idesc_wide_bit(kind)) != 0;
  f.reserved = word & idesc_reserved_bits(kind);
  return f;
}

/// The code of an A or B element type under a kind; nothing when the kind has no such type. E2M1 is 5 in the kinds that
/// mix 8-, 6- and 4-bit types and 1 in the packed 4-bit kinds.
constexpr std::optional<std::uint8_t> operand_type_code(MmaKind kind, ScalarType t) {
  switch (kind) {
    case MmaKind::f16:
      if (t == ScalarType::f16) return std::uint8_t{0};
      if (t == ScalarType::bf16) return std::uint8_t{1};
      break;
    case MmaKind::tf32:
      if (t == ScalarType::tf32) return std::uint8_t{2};
      break;
    case MmaKind::f8f6f4: case MmaKind::mxf8f6f4:
      if (t == ScalarType::e4m3) return std::uint8_t{0};
      if (t == ScalarType::e5m2) return std::uint8_t{1};
      if (t == ScalarType::e2m3) return std::uint8_t{3};
      if (t == ScalarType::e3m2) return std::uint8_t{4};
      if (t == ScalarType::e2m1) return std::uint8_t{5};
      break;
    case MmaKind::i8:
      if (t == ScalarType::u8) return std::uint8_t{0};
      if (t == ScalarType::s8) return std::uint8_t{1};
      break;
    case MmaKind::mxf4: case MmaKind::mxf4nvf4:
      if (t == ScalarType::e2m1) return std::uint8_t{1};
      break;
    case MmaKind::ti16: case MmaKind::none: break;  // ti16: no other instruction has its type
  }
  return std::nullopt;
}

/// The inverse of operand_type_code; `none` for a code that the kind does not define.
constexpr ScalarType operand_type(MmaKind kind, std::uint8_t code) {
  for (ScalarType t : {ScalarType::f16, ScalarType::bf16, ScalarType::tf32, ScalarType::e4m3, ScalarType::e5m2,
                       ScalarType::e2m3, ScalarType::e3m2, ScalarType::e2m1, ScalarType::u8, ScalarType::s8})
    if (const auto c = operand_type_code(kind, t); c && *c == code) return t;
  return ScalarType::none;
}

constexpr std::optional<std::uint8_t> d_type_code(ScalarType t) {
  if (t == ScalarType::f16) return std::uint8_t{0};
  if (t == ScalarType::f32) return std::uint8_t{1};
  if (t == ScalarType::s32) return std::uint8_t{2};
  return std::nullopt;
}

constexpr ScalarType d_type(std::uint8_t code) {
  return code == 0 ? ScalarType::f16 : code == 1 ? ScalarType::f32 : code == 2 ? ScalarType::s32 : ScalarType::none;
}

}  // namespace kiln::isa
