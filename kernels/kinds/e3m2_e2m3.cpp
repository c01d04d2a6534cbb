// D = A * B^T: e3m2 times e2m3, without scales.
#include "kernels/kinds/kinds.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DenseGemm, kiln::kernels::GemmE3m2E2m3>;
