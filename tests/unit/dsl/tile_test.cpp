// A tile's descriptor, slices and boxes all follow from its shape; the ISA's address functions are the oracle.
#include <doctest/doctest.h>

#include "dsl/tile.hpp"

namespace dsl_tile {

using namespace kiln;
using namespace kiln::dsl;

namespace {

// Where TMA puts element (mn, k) of the tile when it lies at `base`.
template <class Tile>
std::uint32_t written_at(std::uint32_t base, int mn, int k) {
  const bool k_inner = Tile::order == Major::K;
  const int byte = (k_inner ? k : mn) * Tile::element::bits / 8, row = k_inner ? mn : k;
  return isa::swizzled(Tile::swizzle, base + std::uint32_t(byte / Tile::shape.span() * Tile::block_bytes +
                                                           row * Tile::row_pitch + byte % Tile::shape.span()));
}

// Where the tensor core looks for it, one instruction of K = 16 after the other.
template <class Tile>
std::uint32_t read_at(std::uint32_t base, int mn, int k) {
  auto d = Tile::descriptor().fields();
  d.start = base + std::uint32_t(Tile::shape.slice_offset(k / 16 * 16));
  if (Tile::order == Major::K) return isa::k_major_address(d, Tile::swizzle, mn, k % 16 * 2);
  return isa::mn_major_address(d, Tile::swizzle, 2, mn, k % 16);
}

template <class Tile>
int mismatches() {
  int n = 0;
  for (int mn = 0; mn < Tile::rows; ++mn)
    for (int k = 0; k < Tile::cols; ++k) n += written_at<Tile>(8192, mn, k) != read_at<Tile>(8192, mn, k);
  return n;
}

}  // namespace

TEST_CASE("the tensor core reads every element where TMA wrote it, K-major") {
  CHECK(mismatches<SharedTile<bf16, 128, 64, K_major, swizzle_128B>>() == 0);
  CHECK(mismatches<SharedTile<bf16, 128, 192, K_major, swizzle_128B>>() == 0);
  CHECK(mismatches<SharedTile<f16, 64, 64, K_major, swizzle_64B>>() == 0);
  CHECK(mismatches<SharedTile<bf16, 64, 32, K_major, swizzle_64B>>() == 0);
  CHECK(mismatches<SharedTile<bf16, 256, 64, K_major, swizzle_32B>>() == 0);
  CHECK(mismatches<SharedTile<bf16, 128, 64, K_major, swizzle_none>>() == 0);
}

TEST_CASE("the tensor core reads every element where TMA wrote it, MN-major") {
  CHECK(mismatches<SharedTile<bf16, 128, 64, MN_major, swizzle_128B>>() == 0);
  CHECK(mismatches<SharedTile<bf16, 64, 32, MN_major, swizzle_128B>>() == 0);
  CHECK(mismatches<SharedTile<bf16, 128, 64, MN_major, swizzle_64B>>() == 0);
  CHECK(mismatches<SharedTile<bf16, 128, 32, MN_major, swizzle_32B>>() == 0);
  CHECK(mismatches<SharedTile<bf16, 64, 32, MN_major, swizzle_none>>() == 0);
}

TEST_CASE("a row narrower than the swizzle span takes a whole span") {
  using Tile = SharedTile<bf16, 64, 16, K_major, swizzle_128B>;
  CHECK(Tile::row_pitch == 128);
  CHECK(Tile::bytes == 64 * 128);
  CHECK(Tile::transaction_bytes == 64 * 32);
}

TEST_CASE("a tile with more than 256 rows is brought by several boxes") {
  using Tile = SharedTile<bf16, 512, 64, K_major, swizzle_128B>;
  CHECK(Tile::shape.box_rows_pieces() == 2);
  CHECK(Tile::box_outer == 256);
}

}  // namespace dsl_tile
