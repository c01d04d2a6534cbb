// GEMMs of many matrices at once, as problems of the generator in kernels/dense.hpp. Each is instantiated in a file of
// its own.
#pragma once

#include "kernels/dense.hpp"

namespace kiln::kernels {

/// Bf16, D[i] = A[i] * B[i]^T.
struct GemmBf16Batched : DenseProblem<dsl::kind_f16, dsl::bf16, dsl::bf16, dsl::f32, dsl::bf16> {
  static constexpr const char* name = "gemm_bf16_batched";
  using Matrices = Batch;
};
extern template struct GeneratedKernel<DenseGemm, GemmBf16Batched>;

}  // namespace kiln::kernels
