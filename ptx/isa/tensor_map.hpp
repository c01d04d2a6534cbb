// The fields of a tensor map that tensormap.replace writes. PTX ISA "tensormap.replace". Measured with ptxas 13.0.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "ptx/isa/swizzle.hpp"
#include "ptx/isa/types.hpp"

namespace kiln::isa {

enum class TensorMapField : std::uint8_t {
  global_address, rank, box_dim, global_dim, global_stride, element_stride,
  elemtype, interleave_layout, swizzle_mode, swizzle_atomicity, fill_mode
};

constexpr std::string_view spelling(TensorMapField f) {
  switch (f) {
    case TensorMapField::global_address: return "global_address";
    case TensorMapField::rank: return "rank";
    case TensorMapField::box_dim: return "box_dim";
    case TensorMapField::global_dim: return "global_dim";
    case TensorMapField::global_stride: return "global_stride";
    case TensorMapField::element_stride: return "element_stride";
    case TensorMapField::elemtype: return "elemtype";
    case TensorMapField::interleave_layout: return "interleave_layout";
    case TensorMapField::swizzle_mode: return "swizzle_mode";
    case TensorMapField::swizzle_atomicity: return "swizzle_atomicity";
    case TensorMapField::fill_mode: return "fill_mode";
  }
  return "";
}

/// Fields with one value a dimension.
constexpr bool has_ordinal(TensorMapField f) {
  return f == TensorMapField::box_dim || f == TensorMapField::global_dim || f == TensorMapField::global_stride ||
         f == TensorMapField::element_stride;
}
/// Fields whose new value is a code in the instruction; the others take a register.
constexpr bool has_code(TensorMapField f) { return f >= TensorMapField::elemtype; }
constexpr bool is_wide(TensorMapField f) {
  return f == TensorMapField::global_address || f == TensorMapField::global_stride;
}

/// What the codes of .elemtype and .swizzle_mode stand for; nothing for a code that has no scalar type of PTX (.f32.ftz,
/// .tf32.ftz, the packed formats) or no swizzle. The numbers are not those of the driver.
constexpr std::optional<ScalarType> element_type(std::int64_t code) {
  constexpr ScalarType none = ScalarType::none;
  constexpr ScalarType types[] = {ScalarType::u8,  ScalarType::u16, ScalarType::u32, ScalarType::s32,  ScalarType::u64,
                                  ScalarType::s64, ScalarType::f16, ScalarType::f32, none,             ScalarType::f64,
                                  ScalarType::bf16, ScalarType::tf32};
  if (code < 0 || code >= std::int64_t(std::size(types)) || types[code] == none) return std::nullopt;
  return types[code];
}
constexpr std::optional<Swizzle> swizzle_mode(std::int64_t code) {
  if (code < 0 || code > 3) return std::nullopt;
  return Swizzle(code);
}

/// The greatest dimension or code that the field takes; strides are those of the outer dimensions.
constexpr int highest(TensorMapField f) {
  switch (f) {
    case TensorMapField::box_dim:
    case TensorMapField::global_dim:
    case TensorMapField::element_stride: return 4;
    case TensorMapField::global_stride: return 3;
    case TensorMapField::elemtype: return 15;
    case TensorMapField::interleave_layout: return 2;
    case TensorMapField::swizzle_mode:
    case TensorMapField::swizzle_atomicity: return 3;
    case TensorMapField::fill_mode: return 1;
    default: return 0;
  }
}

}  // namespace kiln::isa
