// A convolution of sequences with three taps: D[m, n] = sum over t of W[t, m] * X[n + t - 1], inside n's sequence.
#pragma once

#include "kernels/gemm.hpp"

namespace kiln::kernels {

/// The options --m, --n, --k and --sequence.
std::span<const dsl::SizeOption> convolution_options();
/// W[3, m, k], X[n, k] and D[m, n] in bf16; the rows of X are sequences that follow one another.
dsl::Kernel conv1d_ws(isa::Target, const dsl::Sizes&);
launch::Contract conv1d_ws_problem(const dsl::Kernel&, const dsl::Sizes&);

}  // namespace kiln::kernels
