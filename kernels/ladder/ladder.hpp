// The ladder: one GEMM, D = A * B^T in bf16, from the least that multiplies to a persistent kernel that keeps the
// tensor core busy; each rung adds one idea to the one before (docs/ladder.md). What no rung changes is here: the
// launch.
#pragma once

#include "kernels/epilogue.hpp"
#include "kernels/gemm.hpp"

namespace kiln::kernels {

/// The launch of a rung: its parameters are A, B, D, m, n and k_blocks.
template <class List>
launch::Contract ladder_problem(const dsl::Kernel& kernel, const List& parameters, const GemmSizes& s,
                                launch::Dim3 grid, std::uint64_t block_k) {
  using namespace dsl;
  launch::Contract c = gemm_buffers(s);
  launch_kernel(c, kernel, parameters, grid, "A"_arg = GlobalTensor{"A", s.m, s.k},
                "B"_arg = GlobalTensor{"B", s.n, s.k}, "D"_arg = "D", "m"_arg = s.m, "n"_arg = s.n,
                "k_blocks"_arg = pieces(s.k, block_k));
  return c;
}

#define KILN_RUNG(name)                                   \
  dsl::Kernel name(isa::Target, const dsl::Sizes&);       \
  launch::Contract name##_problem(const dsl::Kernel&, const dsl::Sizes&);
KILN_RUNG(gemm_v1a)
KILN_RUNG(gemm_v1b)
KILN_RUNG(gemm_v2a)
KILN_RUNG(gemm_v2b)
KILN_RUNG(gemm_v3)
KILN_RUNG(gemm_v4)
KILN_RUNG(gemm_v5)
KILN_RUNG(gemm_v6)
KILN_RUNG(gemm_v7)
KILN_RUNG(gemm_v8)
#undef KILN_RUNG
/// The one way to build it.
std::vector<dsl::Candidate> gemm_v7_candidates(isa::Target, const dsl::Sizes&);

}  // namespace kiln::kernels
