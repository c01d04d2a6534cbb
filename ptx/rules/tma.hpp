// Tensor maps and tensor copies.
#pragma once

#include <algorithm>

#include "ptx/isa/tma.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

constexpr Verdict tma_rank(int dimensions, int coordinates) {
  return dimensions == coordinates ? legal : breaks(Rule::tma_rank, coordinates, dimensions);
}

/// One extent of a box, in elements.
constexpr Verdict tma_box(std::int64_t extent) {
  if (extent >= 1 && extent <= isa::tma_max_box) return legal;
  return breaks(Rule::tma_box, extent, std::clamp<std::int64_t>(extent, 1, isa::tma_max_box));
}

constexpr std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

/// The inner extent of a box in bytes.
constexpr Verdict tma_inner_bytes(std::int64_t bytes) {
  if (bytes > 0 && bytes % isa::tma_inner_bytes_multiple == 0) return legal;
  return breaks(Rule::tma_inner_bytes, bytes, std::max<std::int64_t>(1, round_up(bytes, isa::tma_inner_bytes_multiple)));
}

constexpr Verdict tma_inner_span(isa::Swizzle s, std::int64_t bytes) {
  if (s == isa::Swizzle::none || bytes <= isa::span_bytes(s)) return legal;
  return breaks(Rule::tma_inner_span, bytes, isa::span_bytes(s));
}

/// A global stride or the global address, in bytes.
constexpr Verdict tma_stride(std::int64_t bytes) {
  if (bytes % isa::tma_global_alignment == 0) return legal;
  return breaks(Rule::tma_stride, bytes, round_up(bytes, isa::tma_global_alignment));
}

/// The inner start coordinate of a copy. Negative coordinates count too.
constexpr Verdict tma_coordinate(std::int64_t coordinate, std::int64_t element_bits) {
  if (coordinate * element_bits % (8 * isa::tma_inner_bytes_multiple) == 0) return legal;
  return breaks(Rule::tma_coordinate, coordinate);
}

/// A start coordinate of a tensor store, any dimension. Loads may begin before the tensor; stores may not.
constexpr Verdict tma_store_coordinate(std::int64_t coordinate) {
  return coordinate >= 0 ? legal : breaks(Rule::tma_store_coordinate, coordinate, 0);
}

constexpr Verdict tma_alignment(std::uint32_t shared_address) {
  if (shared_address % isa::tma_shared_alignment == 0) return legal;
  return breaks(Rule::tma_alignment, shared_address, round_up(shared_address, isa::tma_shared_alignment));
}

/// `encoded`: the bytes at the map's address are one of the launch's tensor maps.
constexpr Verdict tma_map(bool encoded) { return encoded ? legal : breaks(Rule::tma_map); }

constexpr Verdict bulk_size(std::int64_t bytes) {
  if (bytes >= 0 && bytes % 16 == 0) return legal;
  return breaks(Rule::bulk_size, bytes, bytes < 0 ? 0 : round_up(bytes, 16));
}

}  // namespace kiln::rules
