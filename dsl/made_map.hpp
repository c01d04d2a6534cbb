// Tensor maps that a kernel makes: of what only the device knows, such as where the rows of a group lie. That zeros and
// tensormap.replace are enough is measured on an H200 (tests/gpu/made_map.cu). PTX ISA "tensormap.replace".
#pragma once

#include "dsl/thread.hpp"
#include "ptx/isa/tensor_map.hpp"

namespace kiln::dsl {

/// 128 bytes of shared memory for a tensor map, where they must lie.
using MapImage = SharedTile<u8, 8, 16, K_major, packed>;
static_assert(MapImage::bytes == isa::tensor_map_bytes);

/// The code of an element type. tensormap.replace numbers them in its own way.
constexpr int map_code(ScalarType type) {
  int code = 0;
  while (isa::element_type(code) != type) ++code;
  return code;
}

/// Makes, in shared memory, a map of a matrix whose boxes are the pieces of a Tile: all of it but where it begins
/// (global_address) and how far its outer dimension reaches (global_dim, 1). `inner`: elements of a row.
template <class Tile>
void make_tensor_map(Thread& t, const Shared<MapImage>& map, const U32& inner) {
  using Field = TensorMapField;
  static_assert(Tile::element::bits >= 8 && Tile::element::bits == Tile::element::packed_bits,
                "types that share bytes have maps of their own");
  const U32 to = map.address, zero{t.recorder(), ir::Operand::number(0)};
  for (int at = 0; at < isa::tensor_map_bytes; at += 16) t.st_shared_v4(to + at, {zero, zero, zero, zero});
  t.tensormap_replace<Field::rank>(to, 1);  // counted from zero
  t.tensormap_replace<Field::box_dim, 0>(to, Tile::box_inner);
  t.tensormap_replace<Field::box_dim, 1>(to, Tile::box_outer);
  t.tensormap_replace<Field::global_dim, 0>(to, inner);
  t.tensormap_replace<Field::global_stride, 0>(to, multiply_wide(inner, Tile::element::bits / 8));
  t.tensormap_replace<Field::element_stride, 0>(to, 1);
  t.tensormap_replace<Field::element_stride, 1>(to, 1);
  t.tensormap_replace<Field::elemtype, map_code(Tile::element::scalar)>(to);
  t.tensormap_replace<Field::interleave_layout, 0>(to);
  t.tensormap_replace<Field::swizzle_mode, int(Tile::swizzle)>(to);
  t.tensormap_replace<Field::fill_mode, 0>(to);
}

}  // namespace kiln::dsl
