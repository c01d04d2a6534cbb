// D = A * B^T: e4m3 times e2m1, which TMA spreads to a byte each.
#include "kernels/kinds/kinds.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DenseGemm, kiln::kernels::GemmE4m3E2m1>;
