// D = A * B^T: tf32 operands.
#include "kernels/kinds/kinds.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DenseGemm, kiln::kernels::GemmTf32>;
