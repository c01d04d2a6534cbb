// Every kernel that this program offers: one row each.
#include <array>

#include "dsl/entry.hpp"
#include "kernels/by_hand.hpp"
#include "kernels/copy_tma.hpp"
#include "kernels/demo_rows.hpp"
#include "kernels/gemm.hpp"
#include "kernels/generator.hpp"
#include "kernels/kinds.hpp"
#include "kernels/ladder/ladder.hpp"

namespace kiln::dsl {
namespace {

using kernels::tcgen05_targets;
using kernels::wgmma_targets;
constexpr std::array ld_red_targets{sm_103a, sm_103f, sm_107a, sm_107f, sm_110a, sm_110f};
constexpr std::array hopper{sm_90a};
constexpr std::array i8_targets{sm_100a, sm_110a, sm_90a};
constexpr std::array sparse_packed_targets{sm_100a, sm_103a, sm_110a};
constexpr std::array tma_targets{sm_100a, sm_90a, sm_100f, sm_103a, sm_103f, sm_107a, sm_107f, sm_110a, sm_110f};

using kernels::generated;
namespace problems = kernels::problems;

Entry sparse_nvf4() {
  Entry row = generated<problems::gemm_sp_nvf4>(
      "D = A * B^T: e2m1 operands, two of four pairs of A, a ue4m3 scale for 16 stored elements of A",
      sparse_packed_targets, "sp_nvf4");
  row.why_not_others =
      "sm_107 stores two of four elements, not of four pairs, and how metadata say which is not published";
  return row;
}

}  // namespace

std::span<const Entry> kernel_table() {
  static const std::array table{
      kernels::gemm_bf16_row(),
      kernels::gemm_bf16_basic_row(),
      Entry{"gemm_v1a", "the ladder, bf16: two-dimensional copies of 16-byte columns, tile 128x256x256",
            tcgen05_targets, kernels::gemm_options(), kernels::gemm_v1a, kernels::gemm_v1a_problem},
      Entry{"gemm_v1b", "the ladder, bf16: one three-dimensional copy a tile", tcgen05_targets, kernels::gemm_options(),
            kernels::gemm_v1b, kernels::gemm_v1b_problem},
      Entry{"gemm_v2a", "the ladder, bf16: 128-byte swizzle", tcgen05_targets, kernels::gemm_options(),
            kernels::gemm_v2a, kernels::gemm_v2a_problem},
      Entry{"gemm_v2b", "the ladder, bf16: 128-byte swizzle, one copy a tile", tcgen05_targets, kernels::gemm_options(),
            kernels::gemm_v2b, kernels::gemm_v2b_problem},
      Entry{"gemm_v3", "the ladder, bf16: pipelined, ring of 2, tile 128x256x128", tcgen05_targets,
            kernels::gemm_options(), kernels::gemm_v3, kernels::gemm_v3_problem},
      Entry{"gemm_v4", "the ladder, bf16: warp-specialised, ring of 4, tile 128x256x64", wgmma_targets,
            kernels::gemm_options(), kernels::gemm_v4, kernels::gemm_v4_problem},
      Entry{"gemm_v5", "the ladder, bf16: CTA pairs, ring of 7, tile 256x256x64", wgmma_targets,
            kernels::gemm_options(), kernels::gemm_v5, kernels::gemm_v5_problem},
      Entry{"gemm_v6", "the ladder, bf16: persistent pairs, two accumulators", wgmma_targets,
            kernels::persistent_options(), kernels::gemm_v6, kernels::gemm_v6_problem},
      Entry{"gemm_v7", "the ladder, bf16: bands of tiles for L2, stored by TMA", wgmma_targets,
            kernels::persistent_options(), kernels::gemm_v7, kernels::gemm_v7_problem, {}, nullptr, "bf16",
            kernels::gemm_v7_candidates},
      Entry{"gemm_v8", "the ladder, bf16: tiles handed out by launch control", tcgen05_targets, kernels::gemm_options(),
            kernels::gemm_v8, kernels::gemm_v8_problem},
      generated<problems::gemm_f16>("D = A * B^T: f16 operands, f32 sums", wgmma_targets, "f16"),
      generated<problems::gemm_bf16_kept>("D = A * B^T: bf16 operands, of which L2 is to keep A and let go B",
                                          wgmma_targets, "bf16"),
      generated<problems::gemm_tf32>("D = A * B^T: tf32 operands", wgmma_targets, "tf32"),
      generated<problems::gemm_e4m3>("D = A * B^T: e4m3 operands", wgmma_targets, "e4m3"),
      generated<problems::gemm_e5m2_e4m3>("D = A * B^T: e5m2 times e4m3", wgmma_targets, "e5m2_e4m3"),
      generated<problems::gemm_e4m3_e2m1>("D = A * B^T: e4m3 times e2m1, which TMA spreads to a byte each",
                                          tcgen05_targets, "e4m3_e2m1"),
      generated<problems::gemm_e3m2_e2m3>("D = A * B^T: e3m2 times e2m3, which TMA spreads to a byte each",
                                          tcgen05_targets, "e3m2_e2m3"),
      generated<problems::gemm_e2m1>("D = A * B^T: e2m1 operands without scales", tcgen05_targets, "e2m1"),
      generated<problems::gemm_s8>("D = A * B^T: signed bytes, 32-bit sums", i8_targets, "s8"),
      generated<problems::gemm_u8_s8>("D = A * B^T: unsigned times signed bytes", i8_targets, "u8_s8"),
      generated<problems::gemm_f16_f16>("D = A * B^T: f16 operands, f16 sums", tcgen05_targets, "f16_f16"),
      generated<problems::gemm_bf16_batched>("D[i] = A[i] * B[i]^T: bf16 operands", wgmma_targets),
      generated<problems::gemm_f16_at_bt>("D = A^T * B, A as [K, M], B as [K, N]: f16 operands", wgmma_targets),
      generated<problems::gemm_bf16_bt>("D = A * B, B as [K, N]: bf16 operands", wgmma_targets),
      generated<problems::gemm_bf16_axpby>("D = alpha * A * B^T + beta * C: bf16 operands", wgmma_targets),
      generated<problems::gemm_bf16_bias_relu>("D = relu(A * B^T + bias): bf16 operands", wgmma_targets),
      generated<problems::gemm_bf16_maxima>("D = A * B^T, S = max |A * B^T| of each 32 columns: bf16 operands",
                                            ld_red_targets),
      generated<problems::gemm_f16_bias_gelu>("D = gelu(A * B^T + bias), with a tanh: f16 operands", wgmma_targets),
      generated<problems::gemm_e4m3_bias_silu>("D = silu(A * B^T + bias): e4m3 operands", wgmma_targets),
      generated<problems::gemm_mxf8>("D = A * B^T: e4m3 operands, a ue8m0 scale for 32 of them",
                                     tcgen05_targets, "mxf8"),
      generated<problems::gemm_mxf8_bias_silu>("D = silu(A * B^T + bias): e4m3 operands, a ue8m0 scale for 32 of them",
                                               tcgen05_targets),
      generated<problems::gemm_mxf6_mxf4>("D = A * B^T: e3m2 times e2m1, a ue8m0 scale for 32 of them",
                                          tcgen05_targets, "mxf6_mxf4"),
      generated<problems::gemm_mxf4>("D = A * B^T: e2m1 operands, a ue8m0 scale for 32 of them",
                                     tcgen05_targets, "mxf4"),
      generated<problems::gemm_nvf4>("D = A * B^T: e2m1 operands, a ue4m3 scale for 16 of them",
                                     tcgen05_targets, "nvf4"),
      generated<problems::gemm_nvf4_axpby>(
          "D = alpha * A * B^T + beta * C: e2m1 operands, a ue4m3 scale for 16 of them", tcgen05_targets),
      generated<problems::gemm_mxf4nvf4>("D = A * B^T: e2m1 operands by kind::mxf4nvf4, a ue8m0 scale for 32 of them",
                                         tcgen05_targets, "mxf4nvf4"),
      generated<problems::gemm_nvf4_f16>("D = A * B^T in f16: e2m1 operands, a ue4m3 scale for 16 of them",
                                         tcgen05_targets, "nvf4_f16"),
      generated<problems::gemm_bf16_to_mxf8>("D, SFD = A * B^T as e4m3, a ue8m0 scale for 32 of them: bf16 operands",
                                             tcgen05_targets),
      generated<problems::gemm_bf16_to_nvf4>("D, SFD = alpha * A * B^T as e2m1, a ue4m3 scale for 16: bf16 operands",
                                             tcgen05_targets),
      generated<problems::gemm_mxf8_to_mxf8>("the same of operands of that kind: e4m3, a ue8m0 scale for 32 of them",
                                             tcgen05_targets),
      generated<problems::gemm_nvf4_to_nvf4>(
          "D, SFD = alpha * A * B^T as e2m1, a ue4m3 scale for 16: operands of that kind", tcgen05_targets),
      Entry{"copy_tma", "D = A by TMA in and out; S shows how the tiles lay in shared memory", tma_targets,
            kernels::copy_tma_options(), kernels::copy_tma, kernels::copy_tma_problem},
      generated<problems::gemm_sp_bf16>("D = A * B^T: bf16 operands, two of four elements of A",
                                        tcgen05_targets, "sp_bf16"),
      generated<problems::gemm_sp_tf32>("D = A * B^T: tf32 operands, one of two elements of A",
                                        tcgen05_targets, "sp_tf32"),
      generated<problems::gemm_sp_e4m3>("D = A * B^T: e4m3 operands, two of four elements of A",
                                        tcgen05_targets, "sp_e4m3"),
      sparse_nvf4(),
      Entry{"attention", "O = softmax(Q * K^T / sqrt(128)) * V, bf16, heads of 128", tcgen05_targets,
            kernels::attention_options(), kernels::attention, kernels::attention_problem},
      Entry{"attention_causal", "attention in which row i sees the first n - m + i + 1 keys", tcgen05_targets,
            kernels::attention_options(), kernels::attention_causal, kernels::attention_causal_problem},
      Entry{"attention_in_turn", "attention of all keys, two tiles of rows in turn", tcgen05_targets,
            kernels::attention_in_turn_options(), kernels::attention_in_turn, kernels::attention_in_turn_problem},
      Entry{"attention_in_turn_causal", "the same in which row i sees the first n - m + i + 1 keys", tcgen05_targets,
            kernels::attention_in_turn_options(), kernels::attention_in_turn_causal,
            kernels::attention_in_turn_causal_problem},
      Entry{"attention_window", "the same in which it sees the last of these, as many as the window has",
            tcgen05_targets, kernels::attention_window_options(), kernels::attention_window,
            kernels::attention_window_problem},
      Entry{"attention_varlen", "attention of sequences of any lengths, one after the other", tcgen05_targets,
            kernels::attention_varlen_options(), kernels::attention_varlen, kernels::attention_varlen_problem},
      Entry{"attention_decode", "a row of attention for each sequence and head, keys in pages", tcgen05_targets,
            kernels::attention_decode_options(), kernels::attention_decode, kernels::attention_decode_problem},
      Entry{"attention_backward_q", "the backward pass of attention, dQ, and what dK and dV need", tcgen05_targets,
            kernels::attention_backward_options(), kernels::attention_backward_q,
            kernels::attention_backward_q_problem},
      Entry{"attention_backward_kv", "the same for dK and dV", tcgen05_targets, kernels::attention_backward_options(),
            kernels::attention_backward_kv, kernels::attention_backward_kv_problem},
      Entry{"attention_wgmma", "O = softmax(Q * K^T / sqrt(128)) * V, bf16, heads of 128: Hopper, sums in registers",
            hopper, kernels::attention_wgmma_options(), kernels::attention_wgmma, kernels::attention_wgmma_problem},
      Entry{"attention_wgmma_causal", "the same in which row i of a head sees the first n - m + i + 1 keys", hopper,
            kernels::attention_wgmma_options(), kernels::attention_wgmma_causal,
            kernels::attention_wgmma_causal_problem},
      Entry{"attention_wgmma_window", "the same in which it sees the last of these, as many as the window has", hopper,
            kernels::attention_wgmma_window_options(), kernels::attention_wgmma_window,
            kernels::attention_wgmma_window_problem},
      Entry{"attention_wgmma_varlen", "attention of sequences of any lengths, one after the other: Hopper", hopper,
            kernels::attention_wgmma_varlen_options(), kernels::attention_wgmma_varlen,
            kernels::attention_wgmma_varlen_problem},
      Entry{"attention_wgmma_decode", "a row of attention for each sequence and head, keys in pages: Hopper", hopper,
            kernels::attention_wgmma_decode_options(), kernels::attention_wgmma_decode,
            kernels::attention_wgmma_decode_problem},
      Entry{"attention_wgmma_backward_q", "the backward pass of attention, dQ, and what dK and dV need: Hopper", hopper,
            kernels::attention_wgmma_backward_options(), kernels::attention_wgmma_backward_q,
            kernels::attention_wgmma_backward_q_problem},
      Entry{"attention_wgmma_backward_kv", "the same for dK and dV", hopper,
            kernels::attention_wgmma_backward_options(), kernels::attention_wgmma_backward_kv,
            kernels::attention_wgmma_backward_kv_problem},
      generated<problems::gemm_swiglu>("D = silu(A * Gate^T) * (A * Up^T), bf16", tcgen05_targets),
      Entry{"conv1d_ws", "D[m, n] = sum of W[t, m] * X[n + t - 1] over 3 taps, in sequences, bf16: zero-column masks",
            tcgen05_targets, kernels::convolution_options(), kernels::conv1d_ws, kernels::conv1d_ws_problem},
      Entry{"gemm_ws", "D = A * B^T, bf16: weight-stationary, four blocks of 32 rows for one of B", tcgen05_targets,
            kernels::gemm_options(), kernels::gemm_ws, kernels::gemm_ws_problem},
      Entry{"gemm_ws_m64", "D = A * B^T, bf16: weight-stationary, two blocks of 64 rows for one of B", tcgen05_targets,
            kernels::gemm_options(), kernels::gemm_ws_m64, kernels::gemm_ws_m64_problem},
      Entry{"gemm_split_k", "D = A * B^T, bf16: CTAs share the K of a tile, tile 128x128x64", wgmma_targets,
            kernels::split_k_options(), kernels::gemm_split_k, kernels::gemm_split_k_problem,
            kernels::gemm_split_k_strategies(), kernels::gemm_split_k_strategy, "bf16",
            kernels::gemm_split_k_candidates},
      Entry{"gemm_grouped", "D[g] = A[g] * B[g]^T, bf16: groups of rows, device-made tensor maps, tile 128x256x64",
            wgmma_targets, kernels::grouped_options(), kernels::gemm_grouped, kernels::gemm_grouped_problem},
      Entry{"gemm_grouped_wgmma", "the same on sm_90a, without tensor maps of its own: tile 128x256x64", hopper,
            kernels::grouped_wgmma_options(), kernels::gemm_grouped_wgmma, kernels::gemm_grouped_wgmma_problem},
      Entry{"gemm_masked", "D[g] = A[g] * B[g]^T, bf16: of each group as many rows as a list says, tile 128x256x64",
            wgmma_targets, kernels::masked_options(), kernels::gemm_masked, kernels::gemm_masked_problem},
      Entry{"gemm_masked_wgmma", "the same on sm_90a by the kernel of gemm_grouped_wgmma: tile 128x256x64", hopper,
            kernels::masked_wgmma_options(), kernels::gemm_masked_wgmma, kernels::gemm_masked_wgmma_problem},
      Entry{"gemm_problems", "D[g] = A[g] * B[g]^T, bf16, each group with an m, n and k of its own", wgmma_targets,
            kernels::problems_options(), kernels::gemm_problems, kernels::gemm_problems_problem,
            kernels::problems_strategies(), kernels::gemm_problems_strategy},
      Entry{"gemm_bf16_norm", "D = A * B^T / sqrt(mean square of A's row + 1e-5): bf16 operands, tile 128x256x64",
            wgmma_targets, kernels::persistent_options(), kernels::gemm_bf16_norm, kernels::gemm_bf16_norm_problem},
      Entry{"gemv_nvf4", "D = A * b of a batch in f16: e2m1, a ue4m3 scale for 16 of them, without the tensor core",
            tcgen05_targets, kernels::gemv_options(), kernels::gemv_nvf4, kernels::gemv_nvf4_problem},
      Entry{"gemm_nvf4_dual", "D = silu(A * Gate^T) * (A * Up^T) in f16: e2m1 operands, a ue4m3 scale for 16 of them",
            tcgen05_targets, kernels::gemm_options(), kernels::gemm_nvf4_dual, kernels::gemm_nvf4_dual_problem},
      Entry{"gemm_nvf4_grouped", "D[g] = A[g] * B[g]^T in f16: groups of rows, e2m1, a ue4m3 scale for 16 of them",
            tcgen05_targets, kernels::grouped_options(), kernels::gemm_nvf4_grouped,
            kernels::gemm_nvf4_grouped_problem},
      Entry{"gemm_nvf4_problems", "D[g] = A[g] * B[g]^T in f16, each group with an m, n and k of its own: e2m1, ue4m3",
            tcgen05_targets, kernels::nvf4_problems_options(), kernels::gemm_nvf4_problems,
            kernels::gemm_nvf4_problems_problem, kernels::nvf4_problems_strategies(),
            kernels::gemm_nvf4_problems_strategy},
      Entry{"gemm_mxf8_grouped", "D[g] = A[g] * B[g]^T: groups of rows, e4m3, a ue8m0 scale for 32 of them",
            tcgen05_targets, kernels::grouped_options(), kernels::gemm_mxf8_grouped,
            kernels::gemm_mxf8_grouped_problem},
      Entry{"gemm_mxf8_masked", "D[g] = A[g] * B[g]^T: of each group as many rows as a list says, e4m3, ue8m0",
            tcgen05_targets, kernels::masked_options(), kernels::gemm_mxf8_masked, kernels::gemm_mxf8_masked_problem},
      Entry{"gemm_e4m3_grouped", "D[g] = A[g] * B[g]^T: groups of rows, e4m3, an f32 for 1x128 of A and 128x128 of B",
            tcgen05_targets, kernels::grouped_options(), kernels::gemm_e4m3_grouped,
            kernels::gemm_e4m3_grouped_problem},
      Entry{"gemm_e4m3_masked", "the same of each group as many rows as a list says", tcgen05_targets,
            kernels::masked_options(), kernels::gemm_e4m3_masked, kernels::gemm_e4m3_masked_problem},
      Entry{"gemm_e4m3_grouped_wgmma", "groups of rows as gemm_e4m3_grouped has them, on sm_90a: tile 192x128x128",
            hopper, kernels::grouped_wgmma_options(), kernels::gemm_e4m3_grouped_wgmma,
            kernels::gemm_e4m3_grouped_wgmma_problem},
      Entry{"gemm_e4m3_masked_wgmma", "the same of each group as many rows as a list says", hopper,
            kernels::masked_wgmma_options(), kernels::gemm_e4m3_masked_wgmma, kernels::gemm_e4m3_masked_wgmma_problem},
      Entry{"gemm_nvf4_masked", "D[g] = A[g] * B[g]^T in f16: of each group as many rows as a list says, e2m1, ue4m3",
            tcgen05_targets, kernels::masked_options(), kernels::gemm_nvf4_masked, kernels::gemm_nvf4_masked_problem},
  };
  return table;
}

}  // namespace kiln::dsl
