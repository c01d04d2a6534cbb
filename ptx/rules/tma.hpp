// Tensor maps and tensor copies, and the pointers and maps that a launch gives.
#pragma once

#include <algorithm>

#include "ptx/isa/tensor_copy.hpp"
#include "ptx/isa/tensor_map.hpp"
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

/// Where the tensor of a map ends, in bytes from its buffer's start, and the bytes of the buffer.
constexpr Verdict tma_reach(std::uint64_t end, std::uint64_t buffer) {
  return end <= buffer ? legal : breaks(Rule::tma_reach, std::int64_t(end), std::int64_t(buffer));
}

/// Whether elements of one type may be read as those of another: integers are any bits, and tf32 is what tensor cores
/// read of f32.
constexpr bool reads_as(isa::ScalarType read, isa::ScalarType written) {
  const auto format = [](isa::ScalarType t) { return t == isa::ScalarType::tf32 ? isa::ScalarType::f32 : t; };
  return !isa::is_floating(read) || !isa::is_floating(written) || format(read) == format(written);
}

/// The elements of a map against those of its buffer.
constexpr Verdict tma_type(isa::ScalarType map, isa::ScalarType buffer) {
  return reads_as(map, buffer) ? legal : breaks(Rule::tma_type);
}

/// A packed map of `inner` by `outer` elements over a buffer of `rows` by `columns`, slowest first: they are exchanged.
constexpr Verdict tma_extents(std::uint64_t inner, std::uint64_t outer, std::uint64_t rows, std::uint64_t columns) {
  return inner == rows && outer == columns && rows != columns ? breaks(Rule::tma_extents) : legal;
}

/// Bytes of a buffer after the end of the only map over it, where nothing else of the launch reaches them.
constexpr Verdict tma_unread(std::uint64_t bytes) {
  return bytes == 0 ? legal : breaks(Rule::tma_unread, std::int64_t(bytes));
}

/// The elements that a kernel's pointer is to against those of the buffer that a launch gives it.
constexpr Verdict pointer_type(isa::ScalarType pointer, isa::ScalarType buffer) {
  return reads_as(pointer, buffer) ? legal : breaks(Rule::pointer_type);
}

/// The bytes of a buffer from where the pointer points, and the bits of an element.
constexpr Verdict pointer_elements(std::uint64_t bytes, int bits) {
  return 8 * bytes % std::uint64_t(bits) == 0 ? legal : breaks(Rule::pointer_elements, std::int64_t(bytes));
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
constexpr Verdict tma_map_address(bool generic) { return generic ? legal : breaks(Rule::tma_map_address); }

/// A mode of a tensor copy against what the copy does and the tensor's rank.
constexpr Verdict tma_mode(isa::TensorAccess access, isa::TensorMode mode, int rank) {
  const isa::TensorModeForm form = isa::tensor_mode_form(mode, rank);
  const bool reads = access == isa::TensorAccess::load || access == isa::TensorAccess::prefetch;
  if (reads ? !form.reads : !form.writes) return breaks(Rule::tma_mode, int(mode));
  // ptxas 13.0 assembles a reduction with scatter4, which the ISA does not have.
  if (access == isa::TensorAccess::reduce && mode == isa::TensorMode::scatter4) return breaks(Rule::tma_mode, int(mode));
  if (rank >= form.lowest_rank && rank <= form.highest_rank) return legal;
  return breaks(Rule::tma_mode, rank, std::clamp(rank, form.lowest_rank, form.highest_rank));
}

/// A reduction on a tensor, whose map says the type.
constexpr Verdict bulk_reduction(isa::Combine op) {
  return isa::is_reduction(op) ? legal : breaks(Rule::bulk_reduction, int(op));
}
/// A reduction of an array of `type` in a space.
constexpr Verdict bulk_reduction(isa::Combine op, isa::ScalarType type, isa::Space to) {
  return isa::bulk_reduces(op, type, to) ? legal : breaks(Rule::bulk_reduction, int(type));
}

/// The dimension, or the code, that tensormap.replace names.
constexpr Verdict tensormap_field(isa::TensorMapField field, std::int64_t n) {
  const int most = isa::highest(field);
  return n >= 0 && n <= most ? legal : breaks(Rule::tensormap_field, n, n < 0 ? 0 : most);
}

constexpr Verdict bulk_size(std::int64_t bytes) {
  if (bytes >= 0 && bytes % 16 == 0) return legal;
  return breaks(Rule::bulk_size, bytes, bytes < 0 ? 0 : round_up(bytes, 16));
}

}  // namespace kiln::rules
