// D = silu(A * B^T + bias): e4m3 operands, a ue8m0 scale for 32 of them.
#include "kernels/kinds/scaled.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::BlockScaledGemm, kiln::kernels::GemmMxf8BiasSilu>;
