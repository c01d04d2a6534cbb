// D = A * B^T: signed bytes, 32-bit sums.
#include "kernels/kinds/kinds.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DenseGemm, kiln::kernels::GemmS8>;
