// D = relu(A * B^T + bias): bf16 operands.
#include "kernels/kinds/epilogues.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DenseGemm, kiln::kernels::GemmBf16BiasRelu>;
