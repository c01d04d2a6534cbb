// D = silu(A * Gate^T) * (A * Up^T): bf16 operands.
#include "kernels/kinds/dual.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DualGemm, kiln::kernels::DualBf16>;
