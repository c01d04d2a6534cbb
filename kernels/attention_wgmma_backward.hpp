// What both kernels of the backward pass have in common on Hopper: tiles, sums and blocks of scores. For these alone.
#pragma once

#include <vector>

#include "kernels/attention_backward.hpp"
#include "kernels/attention_wgmma_rows.hpp"

namespace kiln::kernels::by_wgmma {

using namespace backward;

constexpr int backward_stages = 2;
constexpr int block_rows = 64, block_keys = 64;  // of scores that a warpgroup computes at a time

using Map = HeadMap;
using Tile = KTile;  // 128 rows or keys
using BlockTile = SharedTile<bf16, block_rows, head, K_major, swizzle_128B>;
using Terms = SharedTile<f32, block_rows * terms / 4, 4, K_major, packed>;  // 16 bytes for two rows
using Scores = WgmmaSums<block_keys>;
using Gradient = WgmmaSums<head>;
static_assert(block_rows == block_keys && keys == rows && rows == cta_rows);

inline void clear(const Gradient& sums) {
  for (int i = 0; i < sums.elements; ++i) sums.set(i, 0.0f);
}
// Elements of a block, rounded, become A of an MMA.
inline void keep(const WgmmaA<bf16, block_keys>& a, const std::vector<F32>& values) {
  a.set(make_registers<Scores::elements>([&](int i) { return values[std::size_t(i)]; }));
}

}  // namespace kiln::kernels::by_wgmma
