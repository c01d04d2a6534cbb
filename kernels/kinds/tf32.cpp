// D = A * B^T: tf32 operands.
#include "kernels/kinds/kinds.hpp"

template struct kiln::kernels::DenseKernel<kiln::kernels::GemmTf32>;
