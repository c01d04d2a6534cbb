// D = A * B^T: e5m2 times e4m3.
#include "kernels/kinds/kinds.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DenseGemm, kiln::kernels::GemmE5m2E4m3>;
