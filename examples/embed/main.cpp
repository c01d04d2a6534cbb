// Copies a matrix with a kernel that travels inside this program.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include KILN_HEADER

namespace {

void check(CUresult status, const char* what) {
  if (status == CUDA_SUCCESS) return;
  const char* why = "unknown";
  cuGetErrorString(status, &why);
  std::fprintf(stderr, "copy: error: %s: %s\n", what, why);
  std::exit(1);
}

constexpr std::size_t elements = 1000 * 1000;

}  // namespace

int main() {
  int devices = 0;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&devices) != CUDA_SUCCESS || devices == 0) {
    std::puts("SKIPPED: no GPU");
    return 77;
  }
  CUdevice device;
  CUcontext context;
  check(cuDeviceGet(&device, 0), "no device");
  check(cuDevicePrimaryCtxRetain(&context, device), "no context");
  check(cuCtxSetCurrent(context), "no context");

  kiln_kernels::copy_tma::Kernel kernel;
  check(kernel.load(), "the kernel does not load");

  std::vector<unsigned short> from(elements), to(elements);
  for (std::size_t i = 0; i < elements; ++i) from[i] = static_cast<unsigned short>(i * 7);
  kiln_kernels::copy_tma::Buffers b;
  check(cuMemAlloc(&b.A, 2 * elements), "no memory");
  check(cuMemAlloc(&b.D, 2 * elements), "no memory");
  check(cuMemAlloc(&b.S, kiln_kernels::copy_tma::S_bytes), "no memory");
  check(cuMemcpyHtoD(b.A, from.data(), 2 * elements), "no copy");
  check(kernel.launch(b), "no launch");
  check(cuMemcpyDtoH(to.data(), b.D, 2 * elements), "the kernel failed");
  if (to != from) {
    std::puts("copy: error: the copy differs");
    return 1;
  }
  std::printf("copied %zu elements\n", elements);
}
