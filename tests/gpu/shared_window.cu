// Where the shared window lies in generic addresses. ptx/flow takes its beginning for a multiple of 4 GiB, so that the
// low word of a generic address of shared memory is the shared address, and rounding either up gives the same place.
// nvcc -arch=sm_90a -o shared_window shared_window.cu && ./shared_window
#include <cstdint>
#include <cstdio>

constexpr int ctas = 1056;

__global__ void __cluster_dims__(2, 1, 1) look(std::uint64_t* windows, int* others) {
  extern __shared__ unsigned char bytes[];
  std::uint64_t window, at;
  std::uint32_t address;
  asm volatile("cvta.shared.u64 %0, 0;" : "=l"(window));
  at = reinterpret_cast<std::uint64_t>(&bytes[0]);
  asm volatile("{ .reg .b64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(address) : "l"(at));
  if (threadIdx.x == 0) windows[blockIdx.x] = window;
  if (std::uint32_t(window) != 0 || std::uint32_t(at) != address) atomicAdd(others, 1);
}

int main() {
  std::uint64_t *windows, seen[ctas];
  int *others, count = 0;
  cudaMalloc(&windows, sizeof seen);
  cudaMalloc(&others, sizeof count);
  cudaMemset(others, 0, sizeof count);
  for (const int dynamic : {0, 4096, 8192}) {
    look<<<ctas, 64, dynamic>>>(windows, others);
    if (const cudaError_t e = cudaDeviceSynchronize()) return std::printf("%s\n", cudaGetErrorString(e)), 1;
    cudaMemcpy(seen, windows, sizeof seen, cudaMemcpyDeviceToHost);
    std::printf("%d bytes of dynamic shared memory: the window of CTA 0 begins at %llx\n", dynamic,
                static_cast<unsigned long long>(seen[0]));
  }
  cudaMemcpy(&count, others, sizeof count, cudaMemcpyDeviceToHost);
  std::printf("threads that saw another kind of window: %d\n", count);
  return count != 0;
}
