/// Measures whether an mbarrier that no fence.mbarrier_init publishes is there for the other CTA of a cluster after a
/// relaxed cluster barrier. CTA 0 initialises and arrives, relaxed; after the barrier CTA 1 arrives on the mbarrier at
/// once, while the other warps of CTA 0 keep its shared memory busy. An arrival that comes before the initialisation is
/// lost, and CTA 0 waits in vain. `no barrier` is the control: CTA 1 does not wait for CTA 0.
///
///     nvcc -arch=sm_90a -o init_without_fence init_without_fence.cu && ./init_without_fence
#include <cstdint>
#include <cstdio>
#include <cstdlib>

constexpr int threads = 1024, clusters = 4096, launches = 400;
constexpr long long patience = 2'000'000;  // clocks

enum class Order { none, relaxed, fenced };

void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(3);
}

__device__ bool has_completed(std::uint32_t barrier) {
  std::uint32_t done;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
               : "=r"(done)
               : "r"(barrier)
               : "memory");
  return done != 0;
}

template <Order order>
__global__ __cluster_dims__(2, 1, 1) void hand_over(unsigned long long* lost, std::uint32_t* sink) {
  __shared__ __align__(8) std::uint64_t barrier;
  __shared__ std::uint32_t busy[8192];
  const std::uint32_t mine = std::uint32_t(__cvta_generic_to_shared(&barrier)), rank = blockIdx.x % 2;
  // What an earlier CTA has left there.
  if (threadIdx.x == 0) barrier = 0xffffffffffffffffull;
  __syncthreads();
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  if (rank == 0 && threadIdx.x >= 32)
    for (int k = 0; k < 64; ++k) busy[(threadIdx.x * 33 + k * 97) % 8192] += k;
  if (rank == 0 && threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(mine) : "memory");
    if (order == Order::fenced) asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncwarp();
  if (order != Order::none)
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  if (rank == 1 && threadIdx.x == 0)
    asm volatile(
        "{ .reg .b32 r; mapa.shared::cluster.u32 r, %0, 0;\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r]; }" ::"r"(mine)
        : "memory");
  if (rank == 0 && threadIdx.x == 0) {
    const long long began = clock64();
    while (!has_completed(mine))
      if (clock64() - began > patience) {
        atomicAdd(lost, 1ull);
        break;
      }
  }
  __syncthreads();
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  if (busy[threadIdx.x] == 0x12345678) *sink = 1;
}

template <Order order>
void measure(const char* name, unsigned long long* lost, std::uint32_t* sink, int times) {
  must(cudaMemset(lost, 0, 8));
  for (int launch = 0; launch < times; ++launch) hand_over<order><<<2 * clusters, threads>>>(lost, sink);
  must(cudaGetLastError());
  unsigned long long host = 0;
  must(cudaMemcpy(&host, lost, 8, cudaMemcpyDeviceToHost));
  std::printf("%-12s %10d clusters, %llu arrivals lost\n", name, times * clusters, host);
}

int main() {
  unsigned long long* lost = nullptr;
  std::uint32_t* sink = nullptr;
  must(cudaMalloc(&lost, 8));
  must(cudaMalloc(&sink, 4));
  measure<Order::fenced>("fenced", lost, sink, launches);
  measure<Order::relaxed>("relaxed", lost, sink, launches);
  measure<Order::none>("no barrier", lost, sink, 1);
}
