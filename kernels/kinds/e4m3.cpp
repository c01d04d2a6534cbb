// D = A * B^T: e4m3 operands.
#include "kernels/kinds/kinds.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DenseGemm, kiln::kernels::GemmE4m3>;
