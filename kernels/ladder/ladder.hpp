// The ladder: one GEMM, D = A * B^T in bf16, from the least that multiplies to a persistent kernel that keeps the tensor core
// busy; each rung adds one idea to the one before (docs/ladder.md). What no rung changes is here: the epilogue into global
// memory, and the launch.
#pragma once

#include "kernels/gemm.hpp"

namespace kiln::kernels {

/// The result matrix, row-major, and its extents.
struct Result {
  dsl::Pointer<dsl::bf16> elements;
  dsl::U32 m, n;
};

/// Stores a 128-row block of sums, which belongs at (row, col) of the result: each thread its row, 8 columns at a time, as
/// bf16. What lies outside the matrix is left out.
template <int N>
void store_rows(dsl::Warpgroup& g, const dsl::Tmem<dsl::f32, 128, N>& sums, const Result& d, const dsl::U32& row,
                const dsl::U32& col) {
  const dsl::U32 my_row = row + g.row();
  const dsl::U64 address = d.elements.at(multiply_wide(my_row, d.n) + widen(col));
  const dsl::U32 width = select(col < d.n, d.n - col, 0);
  const dsl::U32 left = select(my_row < d.m, width, 0);  // of this row, from `col` on
  for (int c = 0; c < N; c += 8) {
    const auto values = g.wait(g.load(sums.template columns<8>(c)));
    g.store_global(address, cvt<dsl::bf16>(values), left, c);
  }
}

/// The launch of a rung: its parameters are A, B, D, m, n and k_blocks.
template <class List>
launch::Contract ladder_problem(const dsl::Kernel& kernel, const List& parameters, const GemmSizes& s, launch::Dim3 grid,
                                std::uint64_t block_k) {
  using namespace dsl;
  launch::Contract c = gemm_buffers(s);
  launch_kernel(c, kernel, parameters, grid, "A"_arg = GlobalTensor{"A", s.m, s.k}, "B"_arg = GlobalTensor{"B", s.n, s.k},
                "D"_arg = "D", "m"_arg = s.m, "n"_arg = s.n, "k_blocks"_arg = (s.k + block_k - 1) / block_k);
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

}  // namespace kiln::kernels
