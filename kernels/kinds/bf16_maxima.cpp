// D = A * B^T and the greatest magnitudes of its blocks: bf16 operands.
#include "kernels/kinds/epilogues.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DenseGemm, kiln::kernels::GemmBf16Maxima>;
