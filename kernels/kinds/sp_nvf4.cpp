// D = A * B^T: e2m1 operands with ue4m3 scales, two of four pairs of elements of A.
#include "kernels/kinds/sparse.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::SparseScaledGemm, kiln::kernels::GemmSpNvf4>;
