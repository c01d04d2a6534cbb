// How many bytes an instruction moves. PTX ISA "ld", "st", "tcgen05.cp".
#pragma once

#include <algorithm>
#include <cstdint>

#include "ptx/isa/modifiers.hpp"
#include "ptx/isa/types.hpp"

namespace kiln::isa {

/// Of one element: its type's bits, one byte at least.
inline std::uint32_t element_bytes(const Modifiers& m) { return std::uint32_t(std::max(1, bits(m.type()) / 8)); }
/// Of one thread: the element as often as the vector has it.
inline std::uint32_t access_bytes(const Modifiers& m) {
  return element_bytes(m) * std::uint32_t(vector_width(m.vector));
}

/// What a tcgen05.cp reads: rows of so many bytes.
struct CopyShape {
  int rows = 0, bytes = 0;
};
constexpr CopyShape copy_shape(DataShape s) {
  switch (s) {
    case DataShape::s128x256b: return {128, 32};
    case DataShape::s4x256b: return {4, 32};
    case DataShape::s128x128b: return {128, 16};
    case DataShape::s64x128b: return {64, 16};
    case DataShape::s32x128b: return {32, 16};
    default: return {};
  }
}

}  // namespace kiln::isa
