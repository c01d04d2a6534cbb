// What the GEMM kernels share on the host: sizes, what is refused, buffers, grids.
#pragma once

#include "dsl/dsl.hpp"

namespace kiln::kernels {

/// D[M, N] = A[M, K] * B[N, K]^T, all row-major.
struct GemmSizes {
  std::uint64_t m = 0, n = 0, k = 0;
};

/// The options --m, --n and --k.
std::span<const dsl::SizeOption> gemm_options();
/// The same and --ctas, for persistent kernels.
std::span<const dsl::SizeOption> persistent_options();
/// Reads and checks them. Throws diag::InputError for an extent that TMA cannot address: zero, over 2^31, or rows that are
/// not a multiple of 16 bytes.
GemmSizes gemm_sizes(const dsl::Sizes&);
/// Buffers A, B (normal random numbers) and D (poison) of bf16, and the expectation that D is the product.
launch::Contract gemm_buffers(const GemmSizes&);
/// One CTA per tile: tiles along M in x, along N in y. Throws diag::InputError when the grid has too many rows of tiles.
launch::Dim3 gemm_grid(const GemmSizes&, std::uint64_t tile_m, std::uint64_t tile_n);
/// As many CTAs as there are tiles, in groups of `group` that share one, but no more than --ctas. Throws diag::InputError where
/// that leaves none.
launch::Dim3 persistent_grid(const dsl::Sizes&, std::uint64_t tile_m, std::uint64_t tile_n, std::uint64_t group);

dsl::Kernel gemm_bf16(isa::Target, const dsl::Sizes&);
launch::Contract gemm_bf16_problem(const dsl::Kernel&, const dsl::Sizes&);
dsl::Kernel gemm_bf16_basic(isa::Target, const dsl::Sizes&);
launch::Contract gemm_bf16_basic_problem(const dsl::Kernel&, const dsl::Sizes&);

}  // namespace kiln::kernels
