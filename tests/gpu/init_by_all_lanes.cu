/// Measures whether an mbarrier works that all lanes of a warp have initialised with one instruction: in each round warp
/// 0 initialises it, four warps arrive and wait, and it is given back.
///
///     nvcc -arch=sm_90a -o init_by_all_lanes init_by_all_lanes.cu && ./init_by_all_lanes
#include <cstdio>

constexpr int ctas = 264, threads = 128, rounds = 20'000;
constexpr long long patience = 1'000'000'000;  // ns

__device__ unsigned missed;

__device__ long long now() {
  long long t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}

__global__ void meet() {
  __shared__ alignas(8) unsigned long long barrier;
  const auto at = unsigned(__cvta_generic_to_shared(&barrier));
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x < 32) asm volatile("mbarrier.init.shared::cta.b64 [%0], 4;" ::"r"(at) : "memory");
    __syncthreads();
    if (threadIdx.x % 32 == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory");
    const long long began = now();
    for (unsigned passed = 0; !passed;) {
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                   : "=r"(passed)
                   : "r"(at)
                   : "memory");
      if (now() - began < patience) continue;
      atomicAdd(&missed, 1);
      return;
    }
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(at) : "memory");
    __syncthreads();
  }
}

int main() {
  meet<<<ctas, threads>>>();
  unsigned n = 0;
  if (cudaDeviceSynchronize() != cudaSuccess || cudaMemcpyFromSymbol(&n, missed, sizeof n) != cudaSuccess) return 3;
  std::printf("%d CTAs, %d rounds: %u waits did not end\n", ctas, rounds, n);
  return n != 0;
}
