// D = A * B^T: tf32 operands, one of two elements of A.
#include "kernels/kinds/sparse.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::SparseGemm, kiln::kernels::GemmSpTf32>;
