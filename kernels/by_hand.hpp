// Kernels that no problem of kinds.hpp describes: each has a builder of its own.
#pragma once

#include "kernels/gemm.hpp"

namespace kiln::kernels {

/// Attention of many heads: O = softmax(Q * K^T / sqrt(head)) * V, of all keys. The options --m, --n, --heads and
/// --sharing.
std::span<const dsl::SizeOption> attention_options();
/// Q[heads, m, 128], K[heads / sharing, n, 128], V like K, O like Q in bf16. Throws diag::InputError for heads that are
/// not shared evenly.
dsl::Kernel attention(isa::Target, const dsl::Sizes&);
launch::Contract attention_problem(const dsl::Kernel&, const dsl::Sizes&);
/// The same where row i sees the first n - m + i + 1 keys. The problem throws diag::InputError for more rows than keys.
dsl::Kernel attention_causal(isa::Target, const dsl::Sizes&);
launch::Contract attention_causal_problem(const dsl::Kernel&, const dsl::Sizes&);

/// Both with two tiles of rows in turn, and --log-sums.
std::span<const dsl::SizeOption> attention_in_turn_options();
dsl::Kernel attention_in_turn(isa::Target, const dsl::Sizes&);
launch::Contract attention_in_turn_problem(const dsl::Kernel&, const dsl::Sizes&);
dsl::Kernel attention_in_turn_causal(isa::Target, const dsl::Sizes&);
launch::Contract attention_in_turn_causal_problem(const dsl::Kernel&, const dsl::Sizes&);
/// The same where a row sees the last of the causal keys, as many as --window says.
std::span<const dsl::SizeOption> attention_window_options();
dsl::Kernel attention_window(isa::Target, const dsl::Sizes&);
launch::Contract attention_window_problem(const dsl::Kernel&, const dsl::Sizes&);
/// The same of sequences of any lengths, which follow one another in the rows of each head: two lists of offsets say
/// where their rows and keys begin, and where those of the last one end. The options --m, --n, --batch, --heads,
/// --sharing, --causal and --window. A sequence without keys has no rows.
std::span<const dsl::SizeOption> attention_varlen_options();
dsl::Kernel attention_varlen(isa::Target, const dsl::Sizes&);
launch::Contract attention_varlen_problem(const dsl::Kernel&, const dsl::Sizes&);

/// A row for each sequence and head, Q[batch, heads, 128] and O like it, of keys and values in pages, K[pages, page,
/// heads / sharing, 128] and V like K: a table has the pages of each sequence, a list how many keys it has. The options
/// --batch, --n, --heads, --sharing, --page and --splits.
std::span<const dsl::SizeOption> attention_decode_options();
dsl::Kernel attention_decode(isa::Target, const dsl::Sizes&);
launch::Contract attention_decode_problem(const dsl::Kernel&, const dsl::Sizes&);

/// The backward pass, where the forward one has left O and the logarithm of each row's sum: dQ, and then dK and dV. The
/// options --m, --n, --heads, --sharing and --causal.
std::span<const dsl::SizeOption> attention_backward_options();
dsl::Kernel attention_backward_q(isa::Target, const dsl::Sizes&);
/// O and dO are any numbers, log_sums[heads, m] about what such scores give. Also row_terms, which the other kernel
/// reads: [heads, m in whole tiles of 128, 2].
launch::Contract attention_backward_q_problem(const dsl::Kernel&, const dsl::Sizes&);
dsl::Kernel attention_backward_kv(isa::Target, const dsl::Sizes&);
launch::Contract attention_backward_kv_problem(const dsl::Kernel&, const dsl::Sizes&);

/// All of these on sm_90a, by wgmma.
std::span<const dsl::SizeOption> attention_wgmma_options();
dsl::Kernel attention_wgmma(isa::Target, const dsl::Sizes&);
launch::Contract attention_wgmma_problem(const dsl::Kernel&, const dsl::Sizes&);
dsl::Kernel attention_wgmma_causal(isa::Target, const dsl::Sizes&);
launch::Contract attention_wgmma_causal_problem(const dsl::Kernel&, const dsl::Sizes&);
std::span<const dsl::SizeOption> attention_wgmma_window_options();
dsl::Kernel attention_wgmma_window(isa::Target, const dsl::Sizes&);
launch::Contract attention_wgmma_window_problem(const dsl::Kernel&, const dsl::Sizes&);
std::span<const dsl::SizeOption> attention_wgmma_varlen_options();
dsl::Kernel attention_wgmma_varlen(isa::Target, const dsl::Sizes&);
launch::Contract attention_wgmma_varlen_problem(const dsl::Kernel&, const dsl::Sizes&);
std::span<const dsl::SizeOption> attention_wgmma_decode_options();
dsl::Kernel attention_wgmma_decode(isa::Target, const dsl::Sizes&);
launch::Contract attention_wgmma_decode_problem(const dsl::Kernel&, const dsl::Sizes&);

std::span<const dsl::SizeOption> attention_wgmma_backward_options();
dsl::Kernel attention_wgmma_backward_q(isa::Target, const dsl::Sizes&);
launch::Contract attention_wgmma_backward_q_problem(const dsl::Kernel&, const dsl::Sizes&);
dsl::Kernel attention_wgmma_backward_kv(isa::Target, const dsl::Sizes&);
launch::Contract attention_wgmma_backward_kv_problem(const dsl::Kernel&, const dsl::Sizes&);

/// A convolution of sequences with three taps: D[m, n] = sum over t of W[t, m] * X[n + t - 1], inside n's sequence. The
/// options --m, --n, --k and --sequence.
std::span<const dsl::SizeOption> convolution_options();
/// W[3, m, k], X[n, k] and D[m, n] in bf16; the rows of X are sequences that follow one another.
dsl::Kernel conv1d_ws(isa::Target, const dsl::Sizes&);
launch::Contract conv1d_ws_problem(const dsl::Kernel&, const dsl::Sizes&);

/// Grouped GEMM, as a mixture of experts has it: rows of A in groups of any size, each multiplied by a matrix of its
/// own. The options --m, --n, --k, --groups and --ctas.
std::span<const dsl::SizeOption> grouped_options();
dsl::Kernel gemm_grouped(isa::Target, const dsl::Sizes&);
/// Groups that get larger one by one; where there are fewer rows than groups, some are empty.
launch::Contract gemm_grouped_problem(const dsl::Kernel&, const dsl::Sizes&);
/// The same on sm_90a, by wgmma. No tile without rows is multiplied.
std::span<const dsl::SizeOption> grouped_wgmma_options();
dsl::Kernel gemm_grouped_wgmma(isa::Target, const dsl::Sizes&);
launch::Contract gemm_grouped_wgmma_problem(const dsl::Kernel&, const dsl::Sizes&);
/// The same where each group has room for --m rows, A[groups, m, k] and D[groups, m, n], and has some of them. The
/// options --m, --n, --k and --groups.
std::span<const dsl::SizeOption> masked_options();
dsl::Kernel gemm_masked(isa::Target, const dsl::Sizes&);
/// Groups that get smaller one by one, the last of which, of several, has no rows.
launch::Contract gemm_masked_problem(const dsl::Kernel&, const dsl::Sizes&);
/// The same by the kernel of gemm_grouped_wgmma: a list says where rows are. The option --ctas too.
std::span<const dsl::SizeOption> masked_wgmma_options();
dsl::Kernel gemm_masked_wgmma(isa::Target, const dsl::Sizes&);
launch::Contract gemm_masked_wgmma_problem(const dsl::Kernel&, const dsl::Sizes&);

/// An RMSNorm and the product after it: rows of A * B^T divided by the root of the mean square of A's row and 1e-5.
dsl::Kernel gemm_bf16_norm(isa::Target, const dsl::Sizes&);
launch::Contract gemm_bf16_norm_problem(const dsl::Kernel&, const dsl::Sizes&);
/// A matrix of nvfp4 by a vector, in f16: A[batch, m, k], b[batch, 1, k], scales in the chunks of isa::scale_index. The
/// options --m, --k and --batch.
std::span<const dsl::SizeOption> gemv_options();
dsl::Kernel gemv_nvf4(isa::Target, const dsl::Sizes&);
launch::Contract gemv_nvf4_problem(const dsl::Kernel&, const dsl::Sizes&);
/// Products of nvfp4 in f16, and of mxfp8 in bf16, scales in the chunks of isa::scale_index: D = silu(A * Gate^T) *
/// (A * Up^T), and groups as those of gemm_grouped, where the scales of each group's rows begin with a chunk of their
/// own, and of gemm_masked.
dsl::Kernel gemm_nvf4_dual(isa::Target, const dsl::Sizes&);
launch::Contract gemm_nvf4_dual_problem(const dsl::Kernel&, const dsl::Sizes&);
dsl::Kernel gemm_nvf4_grouped(isa::Target, const dsl::Sizes&);
launch::Contract gemm_nvf4_grouped_problem(const dsl::Kernel&, const dsl::Sizes&);
dsl::Kernel gemm_mxf8_grouped(isa::Target, const dsl::Sizes&);
launch::Contract gemm_mxf8_grouped_problem(const dsl::Kernel&, const dsl::Sizes&);
dsl::Kernel gemm_nvf4_masked(isa::Target, const dsl::Sizes&);
launch::Contract gemm_nvf4_masked_problem(const dsl::Kernel&, const dsl::Sizes&);
dsl::Kernel gemm_mxf8_masked(isa::Target, const dsl::Sizes&);
launch::Contract gemm_mxf8_masked_problem(const dsl::Kernel&, const dsl::Sizes&);
/// Products with sizes of their own in one launch, of bf16 and of nvfp4: group g has A[m, k], B[n, k] and D[m, n] of its
/// own, and scales. The options --m, --n and --k are lists, or numbers that all groups share; --ctas; --tile, one of a
/// few widths, or the one with which a CTA copies the fewest rows. A group may have no rows, or no columns. The kernel is
/// built for so many groups.
std::span<const dsl::SizeOption> problems_options();
std::span<const dsl::Strategy> problems_strategies();
dsl::Strategy gemm_problems_strategy(const dsl::Sizes&);
dsl::Kernel gemm_problems(isa::Target, const dsl::Sizes&);
/// Throws diag::InputError also for lists of different lengths, for more groups than the parameters of a launch have
/// room for, and where no group has anything.
launch::Contract gemm_problems_problem(const dsl::Kernel&, const dsl::Sizes&);
std::span<const dsl::SizeOption> nvf4_problems_options();
std::span<const dsl::Strategy> nvf4_problems_strategies();
dsl::Strategy gemm_nvf4_problems_strategy(const dsl::Sizes&);
dsl::Kernel gemm_nvf4_problems(isa::Target, const dsl::Sizes&);
launch::Contract gemm_nvf4_problems_problem(const dsl::Kernel&, const dsl::Sizes&);
/// Groups as those of gemm_grouped and gemm_masked in e4m3, with an f32 for 128 elements of a row of A, SFA[m, k / 128],
/// and for 128 x 128 elements of B, SFB[groups, n / 128, k / 128].
dsl::Kernel gemm_e4m3_grouped(isa::Target, const dsl::Sizes&);
launch::Contract gemm_e4m3_grouped_problem(const dsl::Kernel&, const dsl::Sizes&);
dsl::Kernel gemm_e4m3_masked(isa::Target, const dsl::Sizes&);
launch::Contract gemm_e4m3_masked_problem(const dsl::Kernel&, const dsl::Sizes&);
/// Both on sm_90a, by a list of rows of tiles.
dsl::Kernel gemm_e4m3_grouped_wgmma(isa::Target, const dsl::Sizes&);
launch::Contract gemm_e4m3_grouped_wgmma_problem(const dsl::Kernel&, const dsl::Sizes&);
dsl::Kernel gemm_e4m3_masked_wgmma(isa::Target, const dsl::Sizes&);
launch::Contract gemm_e4m3_masked_wgmma_problem(const dsl::Kernel&, const dsl::Sizes&);

/// Split-K: where D has fewer tiles than the GPU has multiprocessors, several CTAs share the K of a tile. The options
/// --m, --n, --k and --splits.
std::span<const dsl::SizeOption> split_k_options();
dsl::Kernel gemm_split_k(isa::Target, const dsl::Sizes&);
/// Throws diag::InputError also where some of the CTAs that share a tile would have no part of K.
launch::Contract gemm_split_k_problem(const dsl::Kernel&, const dsl::Sizes&);
/// How many CTAs share the K of a tile, 4 where --splits does not say it.
dsl::Strategy gemm_split_k_strategy(const dsl::Sizes&);
std::span<const dsl::Strategy> gemm_split_k_strategies();
/// One for each number of CTAs that can share the K of a tile, in powers of two.
std::vector<dsl::Candidate> gemm_split_k_candidates(isa::Target, const dsl::Sizes&);

/// D = A * B^T with B held in the tensor core: tcgen05.mma.ws.
dsl::Kernel gemm_ws(isa::Target, const dsl::Sizes&);
launch::Contract gemm_ws_problem(const dsl::Kernel&, const dsl::Sizes&);
dsl::Kernel gemm_ws_m64(isa::Target, const dsl::Sizes&);
launch::Contract gemm_ws_m64_problem(const dsl::Kernel&, const dsl::Sizes&);

}  // namespace kiln::kernels
