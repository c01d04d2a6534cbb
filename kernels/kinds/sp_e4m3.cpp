// D = A * B^T: e4m3 operands, two of four elements of A.
#include "kernels/kinds/sparse.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::SparseGemm, kiln::kernels::GemmSpE4m3>;
