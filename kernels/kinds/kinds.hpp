// GEMMs of every dense kind without scales, as problems of the generator in kernels/dense.hpp. Each is instantiated in
// a file of its own.
#pragma once

#include "kernels/dense.hpp"

namespace kiln::kernels {

/// F16 operands, f32 sums.
struct GemmF16 : DenseProblem<dsl::kind_f16, dsl::f16, dsl::f16, dsl::f32, dsl::f16> {
  static constexpr const char* name = "gemm_f16";
  static constexpr std::array strategies{pair,
                                         single,
                                         DenseStrategy{dsl::cta_group_2, 128, 128, 9},
                                         DenseStrategy{dsl::cta_group_1, 128, 128, 6},
                                         DenseStrategy{dsl::cta_group_1, 128, 256, 3},
                                         DenseStrategy{dsl::cta_group_1, 64, 128, 9},
                                         DenseStrategy{dsl::cta_group_1, 128, 64, 8, 2, dsl::swizzle_64B},
                                         compact};
};
extern template struct GeneratedKernel<DenseGemm, GemmF16>;

/// F16 operands, f16 sums.
struct GemmF16F16 : DenseProblem<dsl::kind_f16, dsl::f16, dsl::f16, dsl::f16, dsl::f16> {
  static constexpr const char* name = "gemm_f16_f16";
};
extern template struct GeneratedKernel<DenseGemm, GemmF16F16>;

/// Bf16 operands, which L2 is told about: tiles are dealt out column by column, so that all of A is wanted again for
/// the next one, and a block of B never after its column.
struct GemmBf16Kept : DenseProblem<dsl::kind_f16, dsl::bf16, dsl::bf16, dsl::f32, dsl::bf16> {
  static constexpr const char* name = "gemm_bf16_kept";
  static constexpr isa::L2Eviction a_eviction = dsl::evict_last, b_eviction = dsl::evict_first;
};
extern template struct GeneratedKernel<DenseGemm, GemmBf16Kept>;

/// Tf32 operands.
struct GemmTf32 : DenseProblem<dsl::kind_tf32, dsl::tf32, dsl::tf32, dsl::f32, dsl::f32> {
  static constexpr const char* name = "gemm_tf32";
};
extern template struct GeneratedKernel<DenseGemm, GemmTf32>;

/// E4m3 operands.
struct GemmE4m3 : DenseProblem<dsl::kind_f8f6f4, dsl::e4m3, dsl::e4m3, dsl::f32, dsl::bf16> {
  static constexpr const char* name = "gemm_e4m3";
};
extern template struct GeneratedKernel<DenseGemm, GemmE4m3>;

/// E5m2 times e4m3.
struct GemmE5m2E4m3 : DenseProblem<dsl::kind_f8f6f4, dsl::e5m2, dsl::e4m3, dsl::f32, dsl::bf16> {
  static constexpr const char* name = "gemm_e5m2_e4m3";
};
extern template struct GeneratedKernel<DenseGemm, GemmE5m2E4m3>;

/// E4m3 times e2m1, which TMA spreads to a byte each.
struct GemmE4m3E2m1 : DenseProblem<dsl::kind_f8f6f4, dsl::e4m3, dsl::unpacked<dsl::e2m1>, dsl::f32, dsl::bf16> {
  static constexpr const char* name = "gemm_e4m3_e2m1";
};
extern template struct GeneratedKernel<DenseGemm, GemmE4m3E2m1>;

/// E3m2 times e2m3, which TMA spreads to a byte each.
struct GemmE3m2E2m3
    : DenseProblem<dsl::kind_f8f6f4, dsl::unpacked<dsl::e3m2>, dsl::unpacked<dsl::e2m3>, dsl::f32, dsl::bf16> {
  static constexpr const char* name = "gemm_e3m2_e2m3";
};
extern template struct GeneratedKernel<DenseGemm, GemmE3m2E2m3>;

/// E2m1 operands without scales.
struct GemmE2m1
    : DenseProblem<dsl::kind_f8f6f4, dsl::unpacked<dsl::e2m1>, dsl::unpacked<dsl::e2m1>, dsl::f32, dsl::bf16> {
  static constexpr const char* name = "gemm_e2m1";
};
extern template struct GeneratedKernel<DenseGemm, GemmE2m1>;

/// Signed bytes, 32-bit sums.
struct GemmS8 : DenseProblem<dsl::kind_i8, dsl::s8, dsl::s8, dsl::s32, dsl::s32> {
  static constexpr const char* name = "gemm_s8";
};
extern template struct GeneratedKernel<DenseGemm, GemmS8>;

/// Unsigned times signed bytes.
struct GemmU8S8 : DenseProblem<dsl::kind_i8, dsl::u8, dsl::s8, dsl::s32, dsl::s32> {
  static constexpr const char* name = "gemm_u8_s8";
};
extern template struct GeneratedKernel<DenseGemm, GemmU8S8>;

}  // namespace kiln::kernels
