// GEMMs with a sparse A, as problems of the generator in kernels/sparse.hpp and kernels/sparse_scaled.hpp. Each is
// instantiated in a file of its own.
#pragma once

#include "kernels/sparse_scaled.hpp"

namespace kiln::kernels {

/// Bf16 operands, two of four elements of A.
struct GemmSpBf16 : SparseProblem<dsl::kind_f16, dsl::bf16, dsl::bf16, dsl::f32, dsl::bf16> {
  static constexpr const char* name = "gemm_sp_bf16";
};
extern template struct GeneratedKernel<SparseGemm, GemmSpBf16>;

/// Tf32 operands, one of two elements of A.
struct GemmSpTf32 : SparseProblem<dsl::kind_tf32, dsl::tf32, dsl::tf32, dsl::f32, dsl::f32> {
  static constexpr const char* name = "gemm_sp_tf32";
};
extern template struct GeneratedKernel<SparseGemm, GemmSpTf32>;

/// E4m3 operands, two of four elements of A.
struct GemmSpE4m3 : SparseProblem<dsl::kind_f8f6f4, dsl::e4m3, dsl::e4m3, dsl::f32, dsl::bf16> {
  static constexpr const char* name = "gemm_sp_e4m3";
};
extern template struct GeneratedKernel<SparseGemm, GemmSpE4m3>;

/// E2m1 operands, two of four pairs of A, a ue4m3 scale for 16 stored elements of A and 32 of B.
struct GemmSpNvf4 : SparseScaledProblem<dsl::kind_mxf4nvf4, dsl::e2m1, dsl::e2m1, dsl::ue4m3, dsl::bf16, dsl::block16> {
  static constexpr const char* name = "gemm_sp_nvf4";
};
extern template struct GeneratedKernel<SparseScaledGemm, GemmSpNvf4>;

}  // namespace kiln::kernels
