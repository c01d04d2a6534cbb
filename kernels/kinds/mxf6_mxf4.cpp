// D = A * B^T: e3m2 times e2m1, a ue8m0 scale for 32 of them.
#include "kernels/kinds/scaled.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::BlockScaledGemm, kiln::kernels::GemmMxf6Mxf4>;
