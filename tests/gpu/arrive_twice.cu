/// Measures what a barrier makes of a thread that arrives twice. Named barriers: whether `bar.arrive` and `bar.sync` of
/// one warp in one use count as 32 threads each. The cluster's barrier, of which PTX says nothing good when a thread
/// arrives again without having waited: whether the second arrival counts in the place of a CTA that has not come,
/// whether it waits, which use each wait is for, and whether many rounds stay in step. Each case runs in a process of
/// its own, as some hang; that is the answer there.
///
///     nvcc -arch=sm_90a -o arrive_twice arrive_twice.cu
///     for k in 0 1 2 3; do timeout 10 ./arrive_twice $k || echo "case $k hangs"; done
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define BARRIER(text) asm volatile(text ::: "memory")

constexpr int threads = 128, rounds = 100'000, marks = 4;
constexpr long long late = 2'000'000;  // ns

constexpr const char* names[] = {
    "bar.arrive 1, 160 by warp 0, then bar.sync 1, 160 by warps 0 to 3",
    "bar.sync 1, 160 by warps 0 to 3 (control: must hang)",
    "cluster: arrive, arrive, wait, wait; CTA 1 begins 2 ms later and takes 2 ms between its arrivals",
    "cluster: rounds of arrive, arrive, wait, wait, each CTA late by turns",
};

struct Measured {
  long long at[2][marks];  // ns after CTA 0 began: each CTA after its two arrivals and its two waits
  unsigned stale;          // words of the peer that were not of this round
};
__device__ Measured measured;
__device__ long long began;

__device__ long long now() {
  long long t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}
__device__ void wait(long long ns) {
  const long long from = now();
  while (now() - from < ns) {
  }
}

__global__ void named(int which) {
  if (which == 0 && threadIdx.x < 32) BARRIER("bar.arrive 1, 160;");
  BARRIER("bar.sync 1, 160;");
}

__global__ __cluster_dims__(2) void in_order() {
  const unsigned rank = blockIdx.x;
  if (rank == 0 && threadIdx.x == 0) began = now();
  BARRIER("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;");
  const long long from = *(volatile long long*)&began;
  const auto mark = [&](int k) {
    if (threadIdx.x == 0) measured.at[rank][k] = now() - from;
  };
  if (rank) wait(late);
  BARRIER("barrier.cluster.arrive.aligned;");
  mark(0);
  if (rank) wait(late);
  BARRIER("barrier.cluster.arrive.aligned;");
  mark(1);
  BARRIER("barrier.cluster.wait.aligned;");
  mark(2);
  BARRIER("barrier.cluster.wait.aligned;");
  mark(3);
}

// Each CTA writes the number of the round, both arrive twice and wait twice, and each reads the other's. The barrier
// after it is whole, so that a round begins after the last one has been read.
__global__ __cluster_dims__(2) void in_step() {
  __shared__ volatile unsigned word;
  const unsigned rank = blockIdx.x;
  std::uint32_t own = std::uint32_t(__cvta_generic_to_shared((void*)&word)), peer;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(own), "r"(rank ^ 1));
  unsigned stale = 0;
  for (unsigned round = 1; round <= rounds; ++round) {
    if ((round >> 3 & 1) == rank) wait(200 * (round & 7));
    if (threadIdx.x == 0) word = round;
    BARRIER("barrier.cluster.arrive.aligned;");
    if ((round >> 4 & 1) == rank) wait(200 * (round & 7));
    BARRIER("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nbarrier.cluster.wait.aligned;");
    unsigned there;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(there) : "r"(peer) : "memory");
    stale += threadIdx.x == 0 && there != round;
    BARRIER("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;");
  }
  if (stale) atomicAdd(&measured.stale, stale);
}

int main(int n, char** arguments) {
  const int which = n > 1 ? std::atoi(arguments[1]) : 0;
  if (which < 2)
    named<<<1, threads>>>(which);
  else if (which == 2)
    in_order<<<2, threads>>>();
  else
    in_step<<<2, threads>>>();
  Measured host{};
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess || cudaMemcpyFromSymbol(&host, measured, sizeof host) != cudaSuccess) {
    std::printf("%s: %s\n", names[which], cudaGetErrorString(error));
    return 3;
  }
  std::printf("%s: ends\n", names[which]);
  if (which == 2)
    for (int rank = 0; rank < 2; ++rank)
      std::printf("  CTA %d: arrived %.3f ms, arrived again %.3f, first wait over %.3f, second %.3f\n", rank,
                  double(host.at[rank][0]) / 1e6, double(host.at[rank][1]) / 1e6, double(host.at[rank][2]) / 1e6,
                  double(host.at[rank][3]) / 1e6);
  if (which == 3) std::printf("  %u of %d words of the peer stale\n", host.stale, 2 * rounds);
}
