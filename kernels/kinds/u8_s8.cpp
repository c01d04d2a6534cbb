// D = A * B^T: unsigned times signed bytes.
#include "kernels/kinds/kinds.hpp"

template struct kiln::kernels::GeneratedKernel<kiln::kernels::DenseGemm, kiln::kernels::GemmU8S8>;
