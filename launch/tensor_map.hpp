// A tensor map as data: the arguments of cuTensorMapEncodeTiled, which the simulator encodes in its own 128 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "ptx/isa/swizzle.hpp"
#include "ptx/isa/tma.hpp"
#include "ptx/isa/types.hpp"

namespace kiln::launch {

enum class OutOfBounds : std::uint8_t { zero, nan };

/// What a tensor map in im2col mode says instead of a box: pixels are walked along the dimensions between the first
/// (the channels) and the last (the batch), inside the tensor moved by these corners, `element_strides` apart. A walk
/// along rows has corners of dimension 1 alone.
struct Im2col {
  std::array<int, isa::tma_max_rank - 2> lower{}, upper{};  // elements, from the first and from the last pixel
  std::uint32_t channels = 1;                               // per pixel
  std::uint32_t pixels = 1;                                 // per column; row_128 has its own number
  isa::Im2colWalk walk = isa::Im2colWalk::window;

  /// Pixels of one copy without a halo.
  std::uint32_t column() const { return walk == isa::Im2colWalk::row_128 ? isa::im2col_row_pixels : pixels; }
};

/// A tensor map, tiled unless it has `im2col`. Dimension 0 is the fastest; extents beyond `rank` are ignored.
struct TensorMap {
  std::string buffer{};
  std::uint64_t offset = 0;  // bytes from the buffer's start to the tensor's first element
  isa::ScalarType dtype = isa::ScalarType::bf16;
  int rank = 2;
  std::array<std::uint64_t, isa::tma_max_rank> dims{};     // elements
  std::array<std::uint64_t, isa::tma_max_rank> strides{};  // bytes; strides[i] is that of dimension i; [0] is unused
  std::array<std::uint32_t, isa::tma_max_rank> box{1, 1, 1, 1, 1};  // elements
  std::array<std::uint32_t, isa::tma_max_rank> element_strides{1, 1, 1, 1, 1};
  isa::Swizzle swizzle = isa::Swizzle::none;
  OutOfBounds oob = OutOfBounds::zero;
  std::optional<Im2col> im2col{};
  bool padded = false;  // 4-bit elements: in shared memory each 16 of them take 16 bytes (16U4_ALIGN16B)

  /// Whether each 16 elements take 16 bytes of shared memory, whatever their bits: 6-bit elements always do.
  bool is_padded() const { return padded || isa::bits(dtype) == 6; }

  /// Bytes from the buffer's start to the end of the tensor; the largest number where they are 2^64 or more.
  std::uint64_t end() const;
  /// Bytes of one whole box in global memory: what one copy adds to an mbarrier's transaction count.
  std::uint64_t box_bytes() const;
  /// Bytes from one box row to the next in shared memory: the swizzle span when the inner extent is narrower (measured
  /// on Hopper), the inner extent itself otherwise.
  std::uint32_t shared_row_bytes() const;
};

}  // namespace kiln::launch
