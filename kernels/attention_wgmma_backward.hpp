// The backward pass of attention on Hopper: what sum(O * dO) changes by with Q, K and V. Scores are computed anew, and
// what their keys weigh follows from the logarithms of sums that the forward pass leaves. With P the weights and
// S = P * (dO * V^T - the sum of O * dO of the row):
//
//     dQ = S * K / sqrt(head)        dK = S^T * Q / sqrt(head)        dV = P^T * dO
//
// Two kernels follow one another. The first has 128 rows of Q in a CTA, goes through the keys, and leaves dQ and what
// the second needs of each row. The second has 128 keys and goes through the rows of each head that shares the keys. No
// sum depends on which CTA comes first. Here is what both have in common.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/attention_wgmma_rows.hpp"

namespace kiln::kernels::by_wgmma {

constexpr int backward_stages = 2;
constexpr int block_rows = 64, block_keys = 64;  // of scores that a warpgroup computes at a time
constexpr int terms = 2;                         // of a row: its log_sum in the exponent of two, and its dot

using Map = HeadMap;
using Tile = KTile;  // 128 rows or keys
using BlockTile = SharedTile<bf16, block_rows, head, K_major, swizzle_128B>;
using Terms = SharedTile<f32, block_rows * terms / 4, 4, K_major, packed>;  // 16 bytes for two rows
using Scores = WgmmaSums<block_keys>;
using Gradient = WgmmaSums<head>;
static_assert(block_rows == block_keys && keys == rows);

inline const float scale = float(1 / std::sqrt(double(head)));

inline void clear(const Gradient& sums) {
  for (int i = 0; i < sums.elements; ++i) sums.set(i, 0.0f);
}
// Elements of a block, rounded, become A of an MMA.
inline void keep(const WgmmaA<bf16, block_keys>& a, const std::vector<F32>& values) {
  a.set(make_registers<Scores::elements>([&](int i) { return values[std::size_t(i)]; }));
}

inline constexpr auto shared_options = head_options(2);
inline constexpr std::array backward_options{
    shared_options[0], shared_options[1], shared_options[2], shared_options[3],
    SizeOption{"causal", 1, "1: row i sees the first n - m + i + 1 keys; 0: all"}};

inline bool is_causal(const Sizes& sizes) { return is_set(sizes, "causal"); }

// Buffers of both passes with O and dO given, and an expectation of a result in `output`, which is like `like`.
inline launch::Expectation& expect(launch::Contract& c, launch::AttentionResult result, const char* output,
                                   const char* like) {
  launch::Buffer b = c.at(like);
  b.name = output, b.init = {};
  c.buffers.push_back(b);
  launch::Expectation e = c.expectations.front();
  e.output = output, e.result = result, e.d_o = "dO";
  c.expectations.push_back(e);
  return c.expectations.back();
}
inline launch::Contract backward_buffers(const Sizes& sizes) {
  const HeadSizes heads = head_sizes(sizes);
  launch::Contract c = attention_buffers(sizes.at("m"), sizes.at("n"), heads);
  launch::Buffer d_o = c.at("O");
  d_o.name = "dO";
  c.buffers.push_back(d_o);
  for (const auto& [name, seed] : {std::pair("O", 4), std::pair("dO", 5)}) {
    c.at(name).init = c.at("Q").init;
    c.at(name).init.seed = std::uint64_t(seed);
  }
  return c;
}
// What the forward pass leaves of a row, about as scores of normal numbers have it.
inline float usual_log_sum(std::uint64_t m, std::uint64_t n, bool causal, std::uint64_t row) {
  return std::log(float(causal ? n - m + row + 1 : n)) + 0.5f;
}
inline launch::Buffer& add_numbers(launch::Contract& c, const char* name, std::vector<std::uint64_t> shape,
                                   std::vector<double> values) {
  launch::Buffer& b = add_workspace(c, name, isa::ScalarType::f32, 1, launch::Init::Kind::values);
  b.shape = std::move(shape), b.init.values = std::move(values);
  return b;
}

}  // namespace kiln::kernels::by_wgmma
