// GEMMs of every kind, as problems of the generator. Each lists its strategies, the first of which is the default.
#pragma once

#include <array>

#include "kernels/epilogues.hpp"
#include "kernels/problem.hpp"

namespace kiln::kernels {

// Strategies ----------------------------------------------------------------------------------------------------------

inline constexpr GemmStrategy single{dsl::cta_group_1, 256, 128, 4}, pair{dsl::cta_group_2, 256, 128, 7};
/// For 99 KiB of shared memory, which is what sm_120 has: `kiln lower` takes it there.
inline constexpr GemmStrategy compact{dsl::cta_group_1, 128, 128, 3};
inline constexpr std::array dense_strategies{pair, single, compact};
inline constexpr std::array bias_relu_strategies{single, compact};
inline constexpr std::array f16_strategies{pair,
                                           single,
                                           GemmStrategy{dsl::cta_group_2, 128, 128, 9},
                                           GemmStrategy{dsl::cta_group_1, 128, 128, 6},
                                           GemmStrategy{dsl::cta_group_1, 128, 256, 3},
                                           GemmStrategy{dsl::cta_group_1, 64, 128, 9},
                                           GemmStrategy{dsl::cta_group_1, 128, 64, 8, 2, dsl::swizzle_64B},
                                           compact};

/// With tiles 128 columns wide two accumulators and the scales of all slots fit tensor memory; with 256 columns, one.
inline constexpr GemmStrategy scaled_single{dsl::cta_group_1, 128, 128, 6}, scaled_pair{dsl::cta_group_2, 128, 128, 7};
inline constexpr std::array scaled_strategies{scaled_pair, scaled_single};
inline constexpr std::array mxf8_strategies{scaled_pair, scaled_single, GemmStrategy{dsl::cta_group_2, 256, 128, 6, 1},
                                            GemmStrategy{dsl::cta_group_2, 64, 128, 8}};
inline constexpr std::array nvf4_strategies{scaled_pair,
                                            scaled_single,
                                            GemmStrategy{dsl::cta_group_2, 256, 128, 5, 1},
                                            GemmStrategy{dsl::cta_group_1, 256, 128, 4, 1},
                                            GemmStrategy{dsl::cta_group_2, 192, 128, 6, 1},
                                            GemmStrategy{dsl::cta_group_1, 64, 128, 7}};

/// Tiles are 128 columns wide: two accumulators and the metadata of all slots then fit tensor memory.
inline constexpr std::array sparse_strategies{GemmStrategy{dsl::cta_group_2, 128, 128, 5},
                                              GemmStrategy{dsl::cta_group_1, 128, 128, 4}};
inline constexpr std::array sparse_scaled_strategies{GemmStrategy{dsl::cta_group_2, 128, 128, 5},
                                                     GemmStrategy{dsl::cta_group_1, 128, 128, 3}};

/// Both products' tiles are 128 columns wide, so that two pairs of accumulators fill tensor memory.
inline constexpr std::array dual_strategies{GemmStrategy{dsl::cta_group_2, 128, 128, 6},
                                            GemmStrategy{dsl::cta_group_1, 128, 128, 4}};

// Problems ------------------------------------------------------------------------------------------------------------

namespace problems {

using namespace kiln::dsl;

// Dense kinds without scales: element types of A, B, sums and D.
inline constexpr GemmProblem gemm_f16 = product<f16, f16, f32, f16>("gemm_f16", kind_f16, f16_strategies);
inline constexpr GemmProblem gemm_f16_f16 = product<f16, f16, f16, f16>("gemm_f16_f16", kind_f16, dense_strategies);
inline constexpr GemmProblem gemm_tf32 = product<tf32, tf32, f32, f32>("gemm_tf32", kind_tf32, dense_strategies);
inline constexpr GemmProblem gemm_e4m3 = product<e4m3, e4m3, f32, bf16>("gemm_e4m3", kind_f8f6f4, dense_strategies);
inline constexpr GemmProblem gemm_e5m2_e4m3 =
    product<e5m2, e4m3, f32, bf16>("gemm_e5m2_e4m3", kind_f8f6f4, dense_strategies);
inline constexpr GemmProblem gemm_e4m3_e2m1 =
    product<e4m3, unpacked<e2m1>, f32, bf16>("gemm_e4m3_e2m1", kind_f8f6f4, dense_strategies);
inline constexpr GemmProblem gemm_e3m2_e2m3 =
    product<unpacked<e3m2>, unpacked<e2m3>, f32, bf16>("gemm_e3m2_e2m3", kind_f8f6f4, dense_strategies);
inline constexpr GemmProblem gemm_e2m1 =
    product<unpacked<e2m1>, unpacked<e2m1>, f32, bf16>("gemm_e2m1", kind_f8f6f4, dense_strategies);
inline constexpr GemmProblem gemm_s8 = product<s8, s8, s32, s32>("gemm_s8", kind_i8, dense_strategies);
inline constexpr GemmProblem gemm_u8_s8 = product<u8, s8, s32, s32>("gemm_u8_s8", kind_i8, dense_strategies);

// Bf16 operands with L2 eviction priorities. Tiles are dealt out column by column: all of A is read again for the next
// column, but a block of B is not read after its own column.
inline constexpr GemmProblem gemm_bf16_kept =
    product<bf16, bf16, f32, bf16>("gemm_bf16_kept", kind_f16, dense_strategies)
        .with_evictions(evict_last, evict_first);
inline constexpr GemmProblem gemm_bf16_batched =
    product<bf16, bf16, f32, bf16>("gemm_bf16_batched", kind_f16, dense_strategies).batched();

// Operands that are not contiguous along K: A as [K, M], B as [K, N].
inline constexpr GemmProblem gemm_f16_at_bt =
    product<f16, f16, f32, f16>("gemm_f16_at_bt", kind_f16, dense_strategies).with_majors(MN_major, MN_major);
inline constexpr GemmProblem gemm_bf16_bt =
    product<bf16, bf16, f32, bf16>("gemm_bf16_bt", kind_f16, dense_strategies).with_majors(K_major, MN_major);

// Epilogues.
inline constexpr GemmProblem gemm_bf16_axpby =
    product<bf16, bf16, f32, bf16>("gemm_bf16_axpby", kind_f16, dense_strategies).with(alpha_beta);
inline constexpr GemmProblem gemm_bf16_bias_relu =
    product<bf16, bf16, f32, bf16>("gemm_bf16_bias_relu", kind_f16, bias_relu_strategies).with(bias_relu);
inline constexpr GemmProblem gemm_f16_bias_gelu =
    product<f16, f16, f32, f16>("gemm_f16_bias_gelu", kind_f16, dense_strategies).with(bias_gelu_tanh);
inline constexpr GemmProblem gemm_e4m3_bias_silu =
    product<e4m3, e4m3, f32, bf16>("gemm_e4m3_bias_silu", kind_f8f6f4, dense_strategies).with(bias_silu);
inline constexpr GemmProblem gemm_bf16_maxima =
    product<bf16, bf16, f32, bf16>("gemm_bf16_maxima", kind_f16, dense_strategies).with(block_maxima);
inline constexpr GemmProblem gemm_swiglu =
    product<bf16, bf16, f32, bf16>("gemm_swiglu", kind_f16, dual_strategies).dual().with(gated);

// Block-scaled kinds: 32 elements share a scale, or 16.
inline constexpr GemmProblem gemm_mxf8 =
    product<e4m3, e4m3, f32, bf16>("gemm_mxf8", kind_mxf8f6f4, mxf8_strategies).scaled<ue8m0>();
inline constexpr GemmProblem gemm_mxf8_bias_silu =
    product<e4m3, e4m3, f32, bf16>("gemm_mxf8_bias_silu", kind_mxf8f6f4, scaled_strategies)
        .scaled<ue8m0>()
        .with(bias_silu);
inline constexpr GemmProblem gemm_mxf6_mxf4 =
    product<unpacked<e3m2>, unpacked<e2m1>, f32, bf16>("gemm_mxf6_mxf4", kind_mxf8f6f4, scaled_strategies)
        .scaled<ue8m0>();
inline constexpr GemmProblem gemm_mxf4 =
    product<e2m1, e2m1, f32, bf16>("gemm_mxf4", kind_mxf4, scaled_strategies).scaled<ue8m0>();
inline constexpr GemmProblem gemm_mxf4nvf4 =
    product<e2m1, e2m1, f32, bf16>("gemm_mxf4nvf4", kind_mxf4nvf4, scaled_strategies).scaled<ue8m0>(block32);
inline constexpr GemmProblem gemm_nvf4 =
    product<e2m1, e2m1, f32, bf16>("gemm_nvf4", kind_mxf4nvf4, nvf4_strategies).scaled<ue4m3>(block16);
// Of nvfp4 operands, alpha is the product of their two global scales.
inline constexpr GemmProblem gemm_nvf4_axpby =
    product<e2m1, e2m1, f32, bf16>("gemm_nvf4_axpby", kind_mxf4nvf4, scaled_strategies)
        .scaled<ue4m3>(block16)
        .with(alpha_beta);

// The same with halves as its result.
inline constexpr GemmProblem gemm_nvf4_f16 =
    product<e2m1, e2m1, f32, f16>("gemm_nvf4_f16", kind_mxf4nvf4, nvf4_strategies).scaled<ue4m3>(block16);

// Products whose result is quantised to be an operand of the next one.
inline constexpr GemmProblem gemm_bf16_to_mxf8 =
    product<bf16, bf16, f32, e4m3>("gemm_bf16_to_mxf8", kind_f16, dense_strategies).with(to_mxf8);
inline constexpr GemmProblem gemm_bf16_to_nvf4 =
    product<bf16, bf16, f32, e2m1>("gemm_bf16_to_nvf4", kind_f16, dense_strategies).with(to_nvf4);
inline constexpr GemmProblem gemm_mxf8_to_mxf8 =
    product<e4m3, e4m3, f32, e4m3>("gemm_mxf8_to_mxf8", kind_mxf8f6f4, scaled_strategies).scaled<ue8m0>().with(to_mxf8);
inline constexpr GemmProblem gemm_nvf4_to_nvf4 =
    product<e2m1, e2m1, f32, e2m1>("gemm_nvf4_to_nvf4", kind_mxf4nvf4, scaled_strategies)
        .scaled<ue4m3>(block16)
        .with(to_nvf4);

// A sparse A: two of four elements are kept, of tf32 one of two, of packed e2m1 two of four pairs.
inline constexpr GemmProblem gemm_sp_bf16 =
    product<bf16, bf16, f32, bf16>("gemm_sp_bf16", kind_f16, sparse_strategies).sparse();
inline constexpr GemmProblem gemm_sp_tf32 =
    product<tf32, tf32, f32, f32>("gemm_sp_tf32", kind_tf32, sparse_strategies).sparse();
inline constexpr GemmProblem gemm_sp_e4m3 =
    product<e4m3, e4m3, f32, bf16>("gemm_sp_e4m3", kind_f8f6f4, sparse_strategies).sparse();
// A scale for 16 stored elements of A and 32 of B.
inline constexpr GemmProblem gemm_sp_nvf4 =
    product<e2m1, e2m1, f32, bf16>("gemm_sp_nvf4", kind_mxf4nvf4, sparse_scaled_strategies)
        .sparse()
        .scaled<ue4m3>(block16);

}  // namespace problems
}  // namespace kiln::kernels
