// D = A * B: bf16 operands, B not contiguous along K.
#include "kernels/kinds/majors.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DenseGemm, kiln::kernels::GemmBf16Bt>;
