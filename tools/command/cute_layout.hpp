// A map from indices to offsets as people know it from CuTe: (shape):(stride), each mode a list of digits of which the
// first counts fastest. The map is probed, not derived: what is printed was compared with the function on every index.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ptx/isa/swizzle.hpp"

namespace kiln::command {

/// One index, taken apart into digits: an index i adds digit k of it times strides[k].
struct LayoutMode {
  std::vector<int> extents{};
  std::vector<std::int64_t> strides{};

  bool operator==(const LayoutMode&) const = default;
};

/// Offset of the element with these indices.
using OffsetOf = std::function<std::int64_t(std::span<const int> indices)>;

/// The layout of a map over indices below `extents`, which begins at offset 0; nothing when no layout is that map.
std::optional<std::vector<LayoutMode>> probe_layout(std::span<const int> extents, const OffsetOf& offset);

/// "((4,8),(2,2)):((32,1),(16,8))".
std::string text(std::span<const LayoutMode>);

/// CuTe's swizzle over byte addresses: `bits` bits from bit `base + shift` on are XORed into those from `base` on.
struct CuteSwizzle {
  int bits = 0, base = 4, shift = 3;

  constexpr std::uint32_t operator()(std::uint32_t address) const {
    return address ^ ((address >> shift) & (((1u << bits) - 1) << base));
  }
};
constexpr CuteSwizzle cute_swizzle(isa::Swizzle s) {
  switch (s) {
    case isa::Swizzle::none: return {0, 4, 3};
    case isa::Swizzle::b32: return {1, 4, 3};
    case isa::Swizzle::b64: return {2, 4, 3};
    case isa::Swizzle::b128: return {3, 4, 3};
    case isa::Swizzle::b128_atom32: return {2, 5, 2};
    case isa::Swizzle::b128_atom64: return {1, 6, 1};
  }
  return {};
}
/// "Sw<3,4,3>".
std::string text(const CuteSwizzle&);

}  // namespace kiln::command
