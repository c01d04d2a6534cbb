// GEMMs of operands that are not contiguous along K, as problems of the generator in kernels/dense.hpp. Each is
// instantiated in a file of its own.
#pragma once

#include "kernels/dense.hpp"

namespace kiln::kernels {

/// F16, A as [K, M] and B as [K, N].
struct GemmF16AtBt
    : DenseProblem<dsl::kind_f16, dsl::f16, dsl::f16, dsl::f32, dsl::f16, Plain, dsl::MN_major, dsl::MN_major> {
  static constexpr const char* name = "gemm_f16_at_bt";
};
extern template struct GeneratedKernel<DenseGemm, GemmF16AtBt>;

/// Bf16, A as [M, K] and B as [K, N]: a row-major product.
struct GemmBf16Bt
    : DenseProblem<dsl::kind_f16, dsl::bf16, dsl::bf16, dsl::f32, dsl::bf16, Plain, dsl::K_major, dsl::MN_major> {
  static constexpr const char* name = "gemm_bf16_bt";
};
extern template struct GeneratedKernel<DenseGemm, GemmBf16Bt>;

}  // namespace kiln::kernels
