// D = A * B^T: unsigned times signed bytes.
#include "kernels/kinds/kinds.hpp"

template struct kiln::kernels::DenseKernel<kiln::kernels::GemmU8S8>;
