// What kernels of attention have in common: numbers of the softmax, and problems of heads. For kernels/*.cpp alone.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/gemm.hpp"

namespace kiln::kernels {

/// Elements of a row of Q, K, V and O.
inline constexpr int attention_head = 128;
/// Exponents are of two: 2^(log2e / sqrt(head) * score).
inline const float exponent_scale = float(std::numbers::log2e / std::sqrt(double(attention_head)));
/// The score of a key that a row does not see; the greatest score before any is known: finite, so that it has a
/// distance to that.
inline constexpr float unseen_score = -std::numeric_limits<float>::infinity(), least_score = -1e37f;

inline dsl::F32 greater(const dsl::F32& a, const dsl::F32& b) { return max(a, b); }
inline dsl::F32 plus(const dsl::F32& a, const dsl::F32& b) { return a + b; }

/// Elements of a row in a span of the 128-byte swizzle, and bytes of a row.
inline constexpr int attention_span = 64, attention_row_bytes = attention_head * dsl::bf16::bits / 8;
/// Elements of a span, rows, spans of a row, heads: a box is a tile of one head, and rows after its last are not the
/// next head's.
using HeadMap = dsl::TensorMapHandle<dsl::bf16, 4>;
/// The map of heads of so many rows, with boxes of so many rows and spans.
launch::TensorMap head_map(const char* buffer, std::uint64_t rows, std::uint64_t heads, int box_rows,
                           int box_spans = attention_head / attention_span);

/// How many heads Q and O have, and how many K and V.
struct HeadSizes {
  std::uint64_t q = 1, k = 1;
};
/// Those of --heads and --sharing. Throws diag::InputError for none, too many, and heads that are not shared evenly.
HeadSizes head_sizes(const dsl::Sizes&);
/// The options --m, --n, --heads (so many where it is not said) and --sharing.
constexpr std::array<dsl::SizeOption, 4> head_options(std::uint64_t heads) {
  return {dsl::SizeOption{"m", 512, "rows of Q and O of a head"},
          dsl::SizeOption{"n", 512, "rows of K and V of a head: the keys"},
          dsl::SizeOption{"heads", heads, "heads of Q and O, those of a batch one after the other"},
          dsl::SizeOption{"sharing", 1, "heads of Q that share one of K and V"}};
}

/// The buffers Q[heads, m, 128], K[heads / sharing, n, 128], V and O, and what O is to be. Throws diag::InputError for
/// a bad --m or --n.
launch::Contract attention_buffers(std::uint64_t m, std::uint64_t n, const HeadSizes&);

/// Whether an option is 1. Throws diag::InputError where it is neither that nor 0.
bool is_set(const dsl::Sizes&, const char* option);

using MakeProblem = launch::Contract(const dsl::Kernel&, const dsl::Sizes&);
/// The problem where row i sees the first n - m + i + 1 keys. Throws diag::InputError for more rows than keys.
launch::Contract causal_problem(MakeProblem* problem, const dsl::Kernel&, const dsl::Sizes&);

}  // namespace kiln::kernels
