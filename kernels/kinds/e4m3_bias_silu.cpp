// D = silu(A * B^T + bias): e4m3 operands.
#include "kernels/kinds/epilogues.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DenseGemm, kiln::kernels::GemmE4m3BiasSilu>;
