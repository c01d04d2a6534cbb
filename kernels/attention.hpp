// What kernels of attention have in common: numbers of the softmax, and the problem of one head. For kernels/*.cpp
// alone.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/gemm.hpp"

namespace kiln::kernels {

/// Elements of a row of Q, K, V and O.
inline constexpr int attention_head = 128;
/// Exponents are of two: 2^(log2e / sqrt(head) * score).
inline const float exponent_scale = float(std::numbers::log2e / std::sqrt(double(attention_head)));
/// The score of a key that a row does not see.
inline constexpr float unseen_score = -std::numeric_limits<float>::infinity();

inline dsl::F32 greater(const dsl::F32& a, const dsl::F32& b) { return max(a, b); }
inline dsl::F32 plus(const dsl::F32& a, const dsl::F32& b) { return a + b; }

/// The buffers Q, K, V and O of one head, and what O is to be. Throws diag::InputError for a bad --m or --n.
launch::Contract attention_buffers(std::uint64_t m, std::uint64_t n);

using MakeProblem = launch::Contract(const dsl::Kernel&, const dsl::Sizes&);
/// The problem where row i sees the first n - m + i + 1 keys. Throws diag::InputError for more rows than keys.
launch::Contract causal_problem(MakeProblem* problem, const dsl::Kernel&, const dsl::Sizes&);

}  // namespace kiln::kernels
