// D = A^T * B: f16 operands, neither contiguous along K.
#include "kernels/kinds/majors.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DenseGemm, kiln::kernels::GemmF16AtBt>;
