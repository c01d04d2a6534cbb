// D = alpha * A * B^T + beta * C: e2m1 operands, a ue4m3 scale for 16 of them.
#include "kernels/kinds/scaled.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::BlockScaledGemm, kiln::kernels::GemmNvf4Axpby>;
