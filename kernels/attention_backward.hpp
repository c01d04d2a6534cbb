// The backward pass of attention: what sum(O * dO) changes by with Q, K and V. Scores are computed anew, and what their
// keys weigh follows from the logarithms of sums that the forward pass leaves. With P the weights and
// S = P * (dO * V^T - the sum of O * dO of the row):
//
//     dQ = S * K / sqrt(head)        dK = S^T * Q / sqrt(head)        dV = P^T * dO
//
// Two kernels follow one another. The first has 128 rows of Q in a CTA, goes through the keys, and leaves dQ and what
// the second needs of each row. The second has 128 keys and goes through the rows of each head that shares the keys. No
// sum depends on which CTA comes first. Here are the problems of both, on both chips. For kernels/*.cpp alone.
#pragma once

#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/attention_heads.hpp"

namespace kiln::kernels::backward {

using namespace heads;

constexpr int terms = 2, cta_rows = 128;  // terms: of a row, its log_sum in the exponent of two, and its dot
inline const float scale = float(1 / std::sqrt(double(head)));

// How gradients leave a CTA: Out is a HeadMap, by copies of so many rows, or a Pointer<bf16>, by stores.
template <class Out>
constexpr auto q_list = parameters("Q"_arg.is<HeadMap>(), "K"_arg.is<HeadMap>(), "V"_arg.is<HeadMap>(),
                                   "dO_rows"_arg.is<HeadMap>(), "dQ"_arg.is<Out>(), "O"_arg.is<Pointer<bf16>>(),
                                   "dO"_arg.is<Pointer<bf16>>(), "log_sums"_arg.is<Pointer<f32>>(),
                                   "row_terms"_arg.is<Pointer<f32>>(), "m"_arg.is<u32>(), "n"_arg.is<u32>(),
                                   "sharing"_arg.is<u32>());

template <class Out>
constexpr auto kv_list = parameters("Q"_arg.is<HeadMap>(), "K"_arg.is<HeadMap>(), "V"_arg.is<HeadMap>(),
                                    "dO"_arg.is<HeadMap>(), "dK"_arg.is<Out>(), "dV"_arg.is<Out>(),
                                    "row_terms"_arg.is<Pointer<f32>>(), "m"_arg.is<u32>(), "n"_arg.is<u32>(),
                                    "sharing"_arg.is<u32>());

template <class Out>
auto leaves_as(const char* buffer, std::uint64_t rows, std::uint64_t heads, int store_rows) {
  if constexpr (std::is_same_v<Out, HeadMap>)
    return head_map(buffer, rows, heads, store_rows, 1);
  else
    return buffer;
}

// Blocks of rows of Q that see some of a CTA's keys: those before `whole` do not see all of them.
struct RowBlocks {
  U32 begin, end, whole;
};
// The rows whose position is the key's or a later one; they are the last of n positions.
template <int block_rows>
RowBlocks blocks_from_now(const U32& m, const U32& n, const U32& key) {
  const U32 before = n - m, end = (m + (block_rows - 1)) / block_rows;
  const auto first = [&](const U32& of_key) { return select(of_key > before, of_key - before, 0u); };
  return {first(key) / block_rows, end, min((first(key + (cta_rows - 1)) + (block_rows - 1)) / block_rows, end)};
}

inline constexpr auto shared_options = head_options(2);
inline constexpr std::array backward_options{
    shared_options[0], shared_options[1], shared_options[2], shared_options[3],
    SizeOption{"causal", 1, "1: row i sees the first n - m + i + 1 keys; 0: all"}};

inline bool is_causal(const Sizes& sizes) { return is_set(sizes, "causal"); }

/// Buffers and expectations of both problems.
launch::Contract q_buffers(const Sizes&);
launch::Contract kv_buffers(const Sizes&);

/// The problem of dQ.
template <class Out, int store_rows>
launch::Contract q_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n");
  const HeadSizes heads = head_sizes(sizes);
  launch::Contract c = q_buffers(sizes);
  launch_kernel(c, kernel, q_list<Out>, {std::uint32_t(pieces(m, cta_rows)), std::uint32_t(heads.q), 1},
                "Q"_arg = head_map("Q", m, heads.q, cta_rows), "K"_arg = head_map("K", n, heads.k, keys),
                "V"_arg = head_map("V", n, heads.k, keys), "dO_rows"_arg = head_map("dO", m, heads.q, cta_rows),
                "dQ"_arg = leaves_as<Out>("dQ", m, heads.q, store_rows), "O"_arg = "O", "dO"_arg = "dO",
                "log_sums"_arg = "log_sums", "row_terms"_arg = "row_terms", "m"_arg = m, "n"_arg = n,
                "sharing"_arg = std::uint64_t(sizes.at("sharing")));
  return c;
}

/// The problem of dK and dV, where rows of Q come in blocks of so many.
template <class Out, int store_rows, int block_rows>
launch::Contract kv_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n");
  const HeadSizes heads = head_sizes(sizes);
  launch::Contract c = kv_buffers(sizes);
  launch_kernel(c, kernel, kv_list<Out>, {std::uint32_t(pieces(n, cta_rows)), std::uint32_t(heads.k), 1},
                "Q"_arg = head_map("Q", m, heads.q, block_rows), "K"_arg = head_map("K", n, heads.k, keys),
                "V"_arg = head_map("V", n, heads.k, keys), "dO"_arg = head_map("dO", m, heads.q, block_rows),
                "dK"_arg = leaves_as<Out>("dK", n, heads.k, store_rows),
                "dV"_arg = leaves_as<Out>("dV", n, heads.k, store_rows), "row_terms"_arg = "row_terms", "m"_arg = m,
                "n"_arg = n, "sharing"_arg = std::uint64_t(sizes.at("sharing")));
  return c;
}

/// A problem as --causal has it.
template <class Make>
launch::Contract as_causal(Make* problem, const Kernel& kernel, const Sizes& sizes) {
  return is_causal(sizes) ? causal_problem(problem, kernel, sizes) : problem(kernel, sizes);
}

}  // namespace kiln::kernels::backward
