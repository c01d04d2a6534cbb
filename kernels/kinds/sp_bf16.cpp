// D = A * B^T: bf16 operands, two of four elements of A.
#include "kernels/kinds/sparse.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::SparseGemm, kiln::kernels::GemmSpBf16>;
