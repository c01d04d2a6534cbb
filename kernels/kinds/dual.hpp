// Dual GEMMs, as problems of the generator in kernels/dual.hpp.
#pragma once

#include "kernels/dual.hpp"

namespace kiln::kernels {

/// Bf16 operands.
struct DualBf16 : DenseProblem<dsl::kind_f16, dsl::bf16, dsl::bf16, dsl::f32, dsl::bf16> {
  static constexpr const char* name = "gemm_swiglu";
  static constexpr std::array strategies{dual_pair, dual_single};
};
extern template struct GeneratedKernel<DualGemm, DualBf16>;

}  // namespace kiln::kernels
