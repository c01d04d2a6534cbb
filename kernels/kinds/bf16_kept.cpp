// D = A * B^T: bf16 operands, with what L2 is told about them.
#include "kernels/kinds/kinds.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DenseGemm, kiln::kernels::GemmBf16Kept>;
