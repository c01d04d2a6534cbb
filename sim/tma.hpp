// The tensor copy engine: which bytes of global memory a box is, and where they lie in shared memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/machine.hpp"
#include "sim/tensor_map.hpp"

namespace kiln::sim {

/// One box of a tensor, at signed element coordinates.
struct Box {
  TensorMapImage map{};
  std::array<std::int64_t, isa::tma_max_rank> at{};

  int element_bits() const { return isa::bits(isa::ScalarType(map.dtype)); }
  isa::Swizzle swizzle() const { return isa::Swizzle(map.swizzle); }
  /// Elements of the box along a dimension.
  std::uint32_t extent(int dimension) const;
  std::uint32_t rows() const;
  /// Bytes of one row, and from one row to the next in shared memory.
  std::uint32_t row_bytes() const { return std::uint32_t(map.box[0]) * std::uint32_t(element_bits()) / 8; }
  std::uint32_t row_pitch() const;
  /// Bytes that an mbarrier counts: the whole box, inside the tensor or not.
  std::uint32_t bytes() const { return rows() * row_bytes(); }
  /// Shared memory from the first byte to the last.
  std::uint32_t shared_bytes() const { return (rows() - 1) * row_pitch() + row_bytes(); }
};

/// Faults unless the copy may be issued: inner coordinate, shared alignment, a modelled element type.
void check_box(const Box& box, std::uint32_t shared_address);
/// Faults unless a store may begin where the box does.
void check_store(const Box& box);

/// The contiguous ranges of global memory that a box covers: address and bytes, one for each row inside the tensor.
std::vector<std::pair<std::uint64_t, std::uint32_t>> global_rows(const Box& box);

/// Copies a box from global into shared memory of a CTA; what lies outside the tensor is filled.
void load_box(Grid& grid, const ir::Operation* operation, const Box& box, Cta& cta, std::uint32_t shared_address);
/// Reads a box out of shared memory, rows packed.
std::vector<std::uint8_t> gather_box(Grid& grid, const ir::Operation* operation, const Box& box, Cta& cta,
                                     std::uint32_t shared_address);
/// Writes what gather_box gave into the part of the box that lies in the tensor, or combines it with what is there.
void store_box(Grid& grid, const Box& box, const std::vector<std::uint8_t>& rows, isa::Combine how);

}  // namespace kiln::sim
