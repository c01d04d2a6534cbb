// D = gelu(A * B^T + bias): f16 operands.
#include "kernels/kinds/epilogues.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DenseGemm, kiln::kernels::GemmF16BiasGelu>;
