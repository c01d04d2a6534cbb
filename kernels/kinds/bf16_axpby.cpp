// D = alpha * A * B^T + beta * C: bf16 operands.
#include "kernels/kinds/epilogues.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DenseGemm, kiln::kernels::GemmBf16Axpby>;
