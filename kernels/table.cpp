// Every kernel that this program offers: one row each.
#include <array>

#include "dsl/entry.hpp"
#include "kernels/copy_tma.hpp"
#include "kernels/gemm.hpp"

namespace kiln::dsl {
namespace {

constexpr std::array tcgen05_targets{sm_100a, sm_100f, sm_103a, sm_103f, sm_110a, sm_110f};
constexpr std::array tma_targets{sm_100a, sm_90a, sm_100f, sm_103a, sm_103f, sm_110a, sm_110f};

}  // namespace

std::span<const Entry> kernel_table() {
  static const std::array table{
      Entry{"gemm_bf16", "D = A * B^T, bf16: warp-specialised, ring of 4, tile 128x256x64", tcgen05_targets,
            kernels::gemm_options(), kernels::gemm_bf16, kernels::gemm_bf16_problem},
      Entry{"gemm_bf16_basic", "D = A * B^T, bf16: one warpgroup, no overlap, tile 128x128x64", tcgen05_targets,
            kernels::gemm_options(), kernels::gemm_bf16_basic, kernels::gemm_bf16_basic_problem},
      Entry{"copy_tma", "D = A by TMA in and out; S shows how the tiles lay in shared memory", tma_targets,
            kernels::copy_tma_options(), kernels::copy_tma, kernels::copy_tma_problem},
  };
  return table;
}

}  // namespace kiln::dsl
