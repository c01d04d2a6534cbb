// Split-K: where D has fewer tiles than the GPU has multiprocessors, several CTAs share the K of a tile.
#pragma once

#include "dsl/dsl.hpp"

namespace kiln::kernels {

/// The options --m, --n, --k and --splits.
std::span<const dsl::SizeOption> split_k_options();
dsl::Kernel gemm_split_k(isa::Target, const dsl::Sizes&);
/// Throws diag::InputError also where some of the CTAs that share a tile would have no part of K.
launch::Contract gemm_split_k_problem(const dsl::Kernel&, const dsl::Sizes&);

}  // namespace kiln::kernels
