// The simulator's own encoding of a tensor map: 128 bytes that a kernel may copy, keep in any memory and edit with
// tensormap.replace. What the driver would have written there is opaque, so bytes without our mark are refused.
#pragma once

#include <array>
#include <cstdint>

#include "launch/tensor_map.hpp"
#include "ptx/isa/tma.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::sim {

using TensorMapBytes = std::array<std::uint8_t, isa::tensor_map_bytes>;

/// The 128 bytes as fields. tensormap.replace edits these.
struct TensorMapImage {
  std::array<char, 8> mark{};
  std::uint64_t address = 0;                                   // of the tensor's first element
  std::array<std::uint64_t, isa::tma_max_rank> dims{};         // elements
  std::array<std::uint64_t, isa::tma_max_rank - 1> strides{};  // bytes, of dimensions 1 and up
  std::array<std::uint16_t, isa::tma_max_rank> box{};          // elements
  std::array<std::uint8_t, isa::tma_max_rank> element_strides{};
  std::uint8_t rank = 0;
  std::uint8_t dtype = 0;    // isa::ScalarType
  std::uint8_t swizzle = 0;  // isa::Swizzle, of 16-byte atoms
  std::uint8_t oob = 0;      // launch::OutOfBounds
  std::uint8_t padded = 0;   // 16 elements take 16 bytes of shared memory
  std::uint8_t edited = 0;   // tensormap.replace has changed it: judged again when it is used
  std::uint8_t walk = 0;     // isa::Im2colWalk
  std::uint16_t pixels = 0;  // im2col: to a column; box[0] holds the channels. 0: tiled
  std::array<std::int16_t, isa::tma_max_rank - 2> lower{}, upper{};  // im2col: corners of dimensions 1 and up
  std::uint8_t atomicity = 0;                                        // isa::SwizzleAtomicity, of the 128-byte swizzle
  std::array<std::uint8_t, 3> zeros{};

  /// Mode and atomicity in one; not modelled for pairs without a meaning.
  isa::Swizzle swizzle_of() const;
};
static_assert(sizeof(TensorMapImage) == isa::tensor_map_bytes);

/// Encodes a tensor map whose buffer starts at `buffer_address`. InputError, with the rule's slug, for a map that the
/// driver would refuse.
TensorMapBytes encode(const launch::TensorMap& map, std::uint64_t buffer_address);

/// What is wrong with a map, as the driver would judge it.
rules::Verdict judge(const TensorMapImage& image);

/// The fields of 128 zero bytes, with which a kernel starts that builds a map by tensormap.replace: every field is the
/// zero of its encoding.
TensorMapImage begin_tensor_map();

/// The fields of an encoded map. Faults [tma-map] for bytes that `encode` did not write.
TensorMapImage decode_tensor_map(const std::uint8_t* bytes);

}  // namespace kiln::sim
