// GEMMs of the block-scaled kinds, as problems of the generator in kernels/block_scaled.hpp. Each is instantiated in a
// file of its own.
#pragma once

#include "kernels/block_scaled.hpp"
#include "kernels/epilogues.hpp"

namespace kiln::kernels {

/// E4m3 operands, a ue8m0 scale for 32 of them.
struct GemmMxf8 : BlockScaledProblem<dsl::kind_mxf8f6f4, dsl::e4m3, dsl::e4m3, dsl::ue8m0, dsl::bf16> {
  static constexpr const char* name = "gemm_mxf8";
  static constexpr std::array strategies{scaled_pair, scaled_single, DenseStrategy{dsl::cta_group_2, 256, 128, 6, 1},
                                         DenseStrategy{dsl::cta_group_2, 64, 128, 8}};
};
extern template struct GeneratedKernel<BlockScaledGemm, GemmMxf8>;

/// The same, a bias and a silu.
struct GemmMxf8BiasSilu : BlockScaledProblem<dsl::kind_mxf8f6f4, dsl::e4m3, dsl::e4m3, dsl::ue8m0, dsl::bf16> {
  static constexpr const char* name = "gemm_mxf8_bias_silu";
  using Epilogue = Bias<launch::Activation::silu>;
};
extern template struct GeneratedKernel<BlockScaledGemm, GemmMxf8BiasSilu>;

/// E3m2 times e2m1, a ue8m0 scale for 32 of them.
struct GemmMxf6Mxf4 : BlockScaledProblem<dsl::kind_mxf8f6f4, dsl::unpacked<dsl::e3m2>, dsl::unpacked<dsl::e2m1>,
                                         dsl::ue8m0, dsl::bf16> {
  static constexpr const char* name = "gemm_mxf6_mxf4";
};
extern template struct GeneratedKernel<BlockScaledGemm, GemmMxf6Mxf4>;

/// E2m1 operands, a ue8m0 scale for 32 of them.
struct GemmMxf4 : BlockScaledProblem<dsl::kind_mxf4, dsl::e2m1, dsl::e2m1, dsl::ue8m0, dsl::bf16> {
  static constexpr const char* name = "gemm_mxf4";
};
extern template struct GeneratedKernel<BlockScaledGemm, GemmMxf4>;

/// E2m1 operands, a ue4m3 scale for 16 of them.
struct GemmNvf4 : BlockScaledProblem<dsl::kind_mxf4nvf4, dsl::e2m1, dsl::e2m1, dsl::ue4m3, dsl::bf16, dsl::block16> {
  static constexpr const char* name = "gemm_nvf4";
  static constexpr std::array strategies{scaled_pair, scaled_single, DenseStrategy{dsl::cta_group_2, 256, 128, 5, 1},
                                         DenseStrategy{dsl::cta_group_1, 256, 128, 4, 1},
                                         DenseStrategy{dsl::cta_group_2, 192, 128, 6, 1},
                                         DenseStrategy{dsl::cta_group_1, 64, 128, 7}};
};
extern template struct GeneratedKernel<BlockScaledGemm, GemmNvf4>;

/// The same, alpha * A * B^T + beta * C. Of nvfp4 operands, alpha is what remains of their two global scales.
struct GemmNvf4Axpby
    : BlockScaledProblem<dsl::kind_mxf4nvf4, dsl::e2m1, dsl::e2m1, dsl::ue4m3, dsl::bf16, dsl::block16> {
  static constexpr const char* name = "gemm_nvf4_axpby";
  using Epilogue = AlphaBeta;
};
extern template struct GeneratedKernel<BlockScaledGemm, GemmNvf4Axpby>;

/// E2m1 operands by kind::mxf4nvf4, a ue8m0 scale for 32 of them.
struct GemmMxf4nvf4
    : BlockScaledProblem<dsl::kind_mxf4nvf4, dsl::e2m1, dsl::e2m1, dsl::ue8m0, dsl::bf16, dsl::block32> {
  static constexpr const char* name = "gemm_mxf4nvf4";
};
extern template struct GeneratedKernel<BlockScaledGemm, GemmMxf4nvf4>;

}  // namespace kiln::kernels
