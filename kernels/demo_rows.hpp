// The rows of the kernels that are written by hand over typed tiles, as the README has them: what `make demo` builds,
// and the first rows of table.cpp.
#pragma once

#include <array>

#include "dsl/entry.hpp"
#include "kernels/gemm.hpp"

namespace kiln::kernels {

constexpr std::array tcgen05_targets{dsl::sm_100a, dsl::sm_100f, dsl::sm_103a, dsl::sm_103f,
                                     dsl::sm_107a, dsl::sm_107f, dsl::sm_110a, dsl::sm_110f};
/// With what tcgen05 and wgmma have in common.
constexpr std::array wgmma_targets{dsl::sm_100a, dsl::sm_100f, dsl::sm_103a, dsl::sm_103f, dsl::sm_107a,
                                   dsl::sm_107f, dsl::sm_110a, dsl::sm_110f, dsl::sm_90a};

inline dsl::Entry gemm_bf16_row() {
  return {"gemm_bf16",   "D = A * B^T, bf16: warp-specialised, ring of 4, tile 128x256x64",
          wgmma_targets, gemm_options(),
          gemm_bf16,     gemm_bf16_problem};
}

inline dsl::Entry gemm_bf16_basic_row() {
  return {"gemm_bf16_basic", "D = A * B^T, bf16: one warpgroup, no overlap, tile 128x128x64",
          tcgen05_targets,   gemm_options(),
          gemm_bf16_basic,   gemm_bf16_basic_problem};
}

}  // namespace kiln::kernels
