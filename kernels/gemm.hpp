// What the GEMM kernels share on the host: sizes, what is refused, buffers, grids.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "dsl/dsl.hpp"

namespace kiln::kernels {

/// D[M, N] = A[M, K] * B[N, K]^T, all row-major.
struct GemmSizes {
  std::uint64_t m = 0, n = 0, k = 0;
};

/// How many pieces of `size` an extent takes, the last of which may be shorter.
constexpr std::uint64_t pieces(std::uint64_t extent, std::uint64_t size) { return (extent + size - 1) / size; }

/// The options --m, --n and --k.
std::span<const dsl::SizeOption> gemm_options();
/// The same and --ctas, for persistent kernels.
std::span<const dsl::SizeOption> persistent_options();
/// Elements of which a row of A and of B must hold whole multiples for TMA: 16 bytes, or 128 elements of those that TMA
/// spreads to a byte each.
constexpr std::uint64_t row_elements(dsl::ElementType a, dsl::ElementType b) {
  return a.is_unpacked() || b.is_unpacked() ? 128 : std::uint64_t(128 / std::min(a.bits, b.bits));
}
/// Throws diag::InputError for an extent, the option --`name`, that TMA cannot address: zero, over 2^31, or no
/// multiple.
void check_extent(std::string_view name, std::uint64_t value, std::uint64_t multiple = 1);
/// Reads and checks them. Throws diag::InputError where K is no multiple of `k_multiple`, M none of `m_multiple`, N
/// none of `n_multiple` or of 8, or check_extent refuses them.
GemmSizes gemm_sizes(const dsl::Sizes&, std::uint64_t k_multiple = 8, std::uint64_t m_multiple = 1,
                     std::uint64_t n_multiple = 1);
/// A buffer of rows of numbers that the type holds well: a normal distribution, or small integers. Without a seed it
/// holds poison until a kernel writes it.
launch::Buffer matrix(const char* name, isa::ScalarType, std::uint64_t rows, std::uint64_t cols,
                      std::optional<std::uint64_t> seed = {});
/// Buffers A, B (normal random numbers; small integers where the type is one) and D (poison), and the expectation that
/// D is the product.
launch::Contract gemm_buffers(const GemmSizes&, isa::ScalarType a = isa::ScalarType::bf16,
                              isa::ScalarType b = isa::ScalarType::bf16, isa::ScalarType d = isa::ScalarType::bf16);
/// Has an operand stored with K as the slower extent: A as [K, M], B as [K, N].
void store_transposed(launch::Contract&, const std::string& operand);
/// Makes A, B and D batches of --batch matrices. Throws diag::InputError for none and for over 2^16.
void make_batch(launch::Contract&, std::uint64_t matrices);
/// The map of a batch of matrices that follow one another, of which one is described.
launch::TensorMap batched_map(launch::TensorMap one, std::uint64_t matrices);
/// Adds a bias, and what D then is.
void add_bias(launch::Contract&, const GemmSizes&, launch::Activation);
/// Adds factors alpha and beta and a matrix C, and that D has beta * C.
void add_alpha_beta(launch::Contract&, const GemmSizes&, isa::ScalarType c);
/// Adds S, the greatest magnitudes of the sums in each `block` columns of a row.
void add_maxima(launch::Contract&, const GemmSizes&, std::uint32_t block);
/// Adds a buffer that a kernel needs beside its operands; returned for what its kind of content asks for.
launch::Buffer& add_workspace(launch::Contract&, const char* name, isa::ScalarType, std::uint64_t elements,
                              launch::Init::Kind = launch::Init::Kind::poison);
/// One CTA per tile: tiles along M in x, along N in y. Throws diag::InputError when the grid has too many rows of
/// tiles.
launch::Dim3 gemm_grid(const GemmSizes&, std::uint64_t tile_m, std::uint64_t tile_n);
/// As many CTAs as there are tiles, in groups of `group` that share one, but no more than --ctas. Throws
/// diag::InputError where that leaves none.
launch::Dim3 persistent_grid(const dsl::Sizes&, std::uint64_t tiles, std::uint64_t group);
/// The same of the tiles of a matrix.
launch::Dim3 persistent_grid(const dsl::Sizes&, std::uint64_t tile_m, std::uint64_t tile_n, std::uint64_t group);

dsl::Kernel gemm_bf16(isa::Target, const dsl::Sizes&);
launch::Contract gemm_bf16_problem(const dsl::Kernel&, const dsl::Sizes&);
dsl::Kernel gemm_bf16_basic(isa::Target, const dsl::Sizes&);
launch::Contract gemm_bf16_basic_problem(const dsl::Kernel&, const dsl::Sizes&);

}  // namespace kiln::kernels
