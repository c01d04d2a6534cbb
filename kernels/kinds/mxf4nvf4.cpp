// D = A * B^T: e2m1 operands by kind::mxf4nvf4, a ue8m0 scale for 32 of them.
#include "kernels/kinds/scaled.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::BlockScaledGemm, kiln::kernels::GemmMxf4nvf4>;
