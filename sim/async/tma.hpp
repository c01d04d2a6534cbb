// The tensor copy engine: which bytes of global memory a box is, and where they lie in shared memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ptx/isa/modifiers.hpp"
#include "sim/async/tensor_map.hpp"
#include "sim/core/machine.hpp"

namespace kiln::sim {

/// One box of a tensor, at signed element coordinates. Its rows are runs of elements along dimension 0: the lines of a
/// tile, the four rows of a gather or scatter (coordinates: a column, then four rows), the pixels of a column (im2col).
struct Box {
  TensorMapImage map{};
  isa::TensorMode mode = isa::TensorMode::tile;
  std::array<std::int32_t, isa::tma_max_rank> at{};
  std::array<std::uint16_t, 3> offsets{};  // im2col: of the filter tap; of rows: the halo, then that of W

  int element_bits() const { return isa::bits(isa::ScalarType(map.dtype)); }
  isa::Swizzle swizzle() const { return map.swizzle_of(); }
  bool picks_rows() const { return mode == isa::TensorMode::gather4 || mode == isa::TensorMode::scatter4; }
  /// The pixels that the mode walks; nothing for the tiled modes.
  std::optional<isa::Im2colWalk> walk() const;
  bool walks_rows() const { return isa::Im2colWalk(map.walk) != isa::Im2colWalk::window; }
  /// Pixels after those of the column.
  std::uint32_t halo() const { return walks_rows() ? offsets[0] : 0; }
  /// Elements of the box along a dimension.
  std::uint32_t extent(int dimension) const;
  std::uint32_t rows() const;
  /// Bytes of one row in global memory, in shared memory (more when elements are padded), and from one row to the next
  /// there.
  std::uint32_t row_bytes() const { return std::uint32_t(map.box[0]) * std::uint32_t(element_bits()) / 8; }
  std::uint32_t shared_row_bytes() const { return map.padded ? map.box[0] : row_bytes(); }
  std::uint32_t row_pitch() const;
  /// Bytes that an mbarrier counts: the whole box, inside the tensor or not, without padding.
  std::uint32_t bytes() const { return rows() * row_bytes(); }
  /// Shared memory from the first byte to the last.
  std::uint32_t shared_bytes() const { return (rows() - 1) * row_pitch() + shared_row_bytes(); }
};

/// Faults unless a copy may name this box: the map, if a kernel edited it, and the inner coordinate.
void check_coordinates(const Box& box);
/// Faults unless the copy may be issued: coordinates and shared alignment.
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
void store_box(Grid& grid, const ir::Operation* operation, const Box& box, const std::vector<std::uint8_t>& rows,
               isa::Combine how);

}  // namespace kiln::sim
