// Tensor maps and tensor copies: limits and element types. PTX ISA "Tensors"; CUDA driver API "Tensor Map Object
// Management".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx/isa/swizzle.hpp"
#include "ptx/isa/types.hpp"

namespace kiln::isa {

inline constexpr int tma_max_rank = 5;
inline constexpr int tma_max_box = 256;              // elements, each dimension
inline constexpr int tma_inner_bytes_multiple = 16;  // inner box extent, strides, inner start coordinate
inline constexpr int tma_global_alignment = 16;
inline constexpr int tma_shared_alignment = 128;
inline constexpr int tma_max_element_stride = 8;
inline constexpr int tensor_map_bytes = 128;
inline constexpr int tensor_map_alignment = 64;

/// What the NaN fill writes, 16 bits at a time whatever the floating-point type, and what .oob takes for zero (with
/// either sign). Measured on an H200.
inline constexpr std::uint16_t oob_nan = 0x7FF7;

/// The driver's CUtensorMapDataType numbers.
enum class TensorMapType : std::uint8_t {
  uint8 = 0, uint16 = 1, uint32 = 2, int32 = 3, uint64 = 4, int64 = 5, float16 = 6, float32 = 7, float64 = 8,
  bfloat16 = 9, float32_ftz = 10, tfloat32 = 11, tfloat32_ftz = 12, u4_align8 = 13, u4_align16 = 14, u6_align16 = 15
};

/// The driver's CUtensorMapSwizzle number.
constexpr int tensor_map_code(Swizzle s) { return s == Swizzle::b128_atom64 ? 6 : int(s); }

/// What a tensor map in im2col mode walks: the whole window, or pixels of one row of it, as many as the map says or
/// 128. PTX ISA "im2col mode", "im2col::w and im2col::w::128 modes".
enum class Im2colWalk : std::uint8_t { window, row, row_128 };

constexpr std::string_view spelling(Im2colWalk w) {
  switch (w) {
    case Im2colWalk::window: return "window";
    case Im2colWalk::row: return "w";
    case Im2colWalk::row_128: return "w128";
  }
  return "";
}

/// Pixels that one copy of im2col::w::128 loads without a halo, whatever the tensor map says.
inline constexpr int im2col_row_pixels = 128;

/// Whether a map that walks rows may have the swizzle. CUDA driver API "cuTensorMapEncodeIm2colWide".
constexpr bool walks_rows(Swizzle s) { return s == Swizzle::b64 || s == Swizzle::b128 || s == Swizzle::b128_atom32; }

/// The driver's type for elements of a PTX type. `padded`: 4-bit elements of which 16 take 16 bytes of shared memory;
/// 6-bit elements have no other form.
constexpr std::optional<TensorMapType> tensor_map_type(ScalarType t, bool padded = false) {
  switch (t) {
    case ScalarType::e2m1: return padded ? TensorMapType::u4_align16 : TensorMapType::u4_align8;
    case ScalarType::e2m3: case ScalarType::e3m2: return TensorMapType::u6_align16;
    case ScalarType::u8: case ScalarType::s8: case ScalarType::b8: case ScalarType::e4m3: case ScalarType::e5m2:
      return TensorMapType::uint8;
    case ScalarType::u16: case ScalarType::s16: case ScalarType::b16: return TensorMapType::uint16;
    case ScalarType::u32: case ScalarType::b32: return TensorMapType::uint32;
    case ScalarType::s32: return TensorMapType::int32;
    case ScalarType::u64: case ScalarType::b64: return TensorMapType::uint64;
    case ScalarType::s64: return TensorMapType::int64;
    case ScalarType::f16: return TensorMapType::float16;
    case ScalarType::bf16: return TensorMapType::bfloat16;
    case ScalarType::f32: return TensorMapType::float32;
    case ScalarType::f64: return TensorMapType::float64;
    case ScalarType::tf32: return TensorMapType::tfloat32;
    default: return std::nullopt;
  }
}

}  // namespace kiln::isa
