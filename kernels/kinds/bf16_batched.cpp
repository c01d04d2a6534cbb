// D[i] = A[i] * B[i]^T: bf16 operands.
#include "kernels/kinds/batched.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DenseGemm, kiln::kernels::GemmBf16Batched>;
