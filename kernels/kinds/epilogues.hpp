// GEMMs that end with more than a store, as problems of the generator in kernels/dense.hpp. Each is instantiated in a
// file of its own.
#pragma once

#include "kernels/dense.hpp"
#include "kernels/epilogues.hpp"

namespace kiln::kernels {

/// Bf16, D = alpha * A * B^T + beta * C.
struct GemmBf16Axpby : DenseProblem<dsl::kind_f16, dsl::bf16, dsl::bf16, dsl::f32, dsl::bf16, AlphaBeta> {
  static constexpr const char* name = "gemm_bf16_axpby";
};
extern template struct GeneratedKernel<DenseGemm, GemmBf16Axpby>;

/// F16, a bias and a gelu.
struct GemmF16BiasGelu
    : DenseProblem<dsl::kind_f16, dsl::f16, dsl::f16, dsl::f32, dsl::f16, Bias<launch::Activation::gelu_tanh>> {
  static constexpr const char* name = "gemm_f16_bias_gelu";
};
extern template struct GeneratedKernel<DenseGemm, GemmF16BiasGelu>;

/// E4m3, a bias and a silu.
struct GemmE4m3BiasSilu
    : DenseProblem<dsl::kind_f8f6f4, dsl::e4m3, dsl::e4m3, dsl::f32, dsl::bf16, Bias<launch::Activation::silu>> {
  static constexpr const char* name = "gemm_e4m3_bias_silu";
};
extern template struct GeneratedKernel<DenseGemm, GemmE4m3BiasSilu>;

/// Bf16, a bias and a relu.
struct GemmBf16BiasRelu
    : DenseProblem<dsl::kind_f16, dsl::bf16, dsl::bf16, dsl::f32, dsl::bf16, Bias<launch::Activation::relu>> {
  static constexpr const char* name = "gemm_bf16_bias_relu";
  static constexpr std::array strategies{single, compact};
};
extern template struct GeneratedKernel<DenseGemm, GemmBf16BiasRelu>;

/// Bf16, and the greatest magnitudes of blocks of D.
struct GemmBf16Maxima : DenseProblem<dsl::kind_f16, dsl::bf16, dsl::bf16, dsl::f32, dsl::bf16, BlockMaxima> {
  static constexpr const char* name = "gemm_bf16_maxima";
};
extern template struct GeneratedKernel<DenseGemm, GemmBf16Maxima>;

}  // namespace kiln::kernels
