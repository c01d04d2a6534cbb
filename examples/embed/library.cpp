// The kernel as a library with a C interface, for callers from other languages: addresses and a stream in, status out.
#include <cuda.h>

#include KILN_HEADER

extern "C" {

/// The bytes of the buffer that the kernel uses besides its matrices.
unsigned long long copy_scratch_bytes() { return kiln_kernels::copy_tma::S_bytes; }

/// Copies 1000 x 1000 elements of 16 bits on a stream of the current context. Answers the driver's status, 0 where all is well.
int copy(CUdeviceptr to, CUdeviceptr from, CUdeviceptr scratch, CUstream stream) {
  static kiln_kernels::copy_tma::Kernel kernel;
  static const CUresult loaded = kernel.load();
  if (loaded != CUDA_SUCCESS) return loaded;
  kiln_kernels::copy_tma::Buffers b;
  b.A = from, b.D = to, b.S = scratch;
  return kernel.launch(b, stream);
}
}
