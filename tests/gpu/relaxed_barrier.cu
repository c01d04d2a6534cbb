/// Measures what a GPU makes of barrier.cluster beyond what PTX promises, in clusters of two CTAs with two warps each.
/// Warp 0 of each CTA writes 32 words to shared memory, after stores that queue for one bank. All threads pass a
/// barrier, and warp 1 reads the words of its own CTA and of the peer. A word of an earlier round is stale. `none` is
/// the control: no barrier stands between. Exits: warp 1 exits, at once or after some time, and warp 0 passes barriers
/// that it takes no part in.
///
///     nvcc -arch=sm_90a -o relaxed_barrier relaxed_barrier.cu && ./relaxed_barrier
#include <cstdint>
#include <cstdio>
#include <cstdlib>

constexpr int ctas = 132, rounds = 200'000;

enum class Between { none, relaxed, released };

void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(3);
}

__device__ void pass() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ void pass_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ std::uint32_t load(std::uint32_t at) {
  std::uint32_t v;
  asm volatile("ld.shared::cluster.b32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
  return v;
}

template <Between between>
__global__ __cluster_dims__(2) void publish(unsigned long long* stale) {
  __shared__ std::uint32_t words[32], queue[32 * 32];
  const std::uint32_t lane = threadIdx.x % 32, own = std::uint32_t(__cvta_generic_to_shared(words + lane));
  const std::uint32_t bank = std::uint32_t(__cvta_generic_to_shared(queue + 32 * lane));  // one for all lanes
  std::uint32_t rank, peer;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(own), "r"(rank ^ 1));
  unsigned long long own_stale = 0, peer_stale = 0;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    if (threadIdx.x < 32) {
      for (int k = 0; k < 8; ++k) asm volatile("st.shared.b32 [%0], %1;" ::"r"(bank + 4 * k), "r"(round) : "memory");
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(own), "r"(round) : "memory");
    }
    if (between == Between::relaxed) pass_relaxed();
    if (between == Between::released) pass();
    if (threadIdx.x >= 32) {
      own_stale += load(own) != round;
      peer_stale += load(peer) != round;
    }
    pass();
  }
  if (own_stale) atomicAdd(stale, own_stale);
  if (peer_stale) atomicAdd(stale + 1, peer_stale);
}

enum class Meet { none, cluster, cta };

// Warp 0 stores and exits; warp 1 reads after a barrier that warp 0 takes no part in.
template <Meet meet>
__global__ __cluster_dims__(2) void leave(unsigned long long* stale, int stores) {
  __shared__ std::uint32_t words[32], queue[32 * 32];
  const std::uint32_t lane = threadIdx.x % 32, own = std::uint32_t(__cvta_generic_to_shared(words + lane));
  const std::uint32_t bank = std::uint32_t(__cvta_generic_to_shared(queue + 32 * lane));
  if (threadIdx.x < 32) words[lane] = 0;
  pass();
  if (threadIdx.x < 32) {
    for (int k = 0; k < stores; ++k)
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(bank + 4 * (k & 7)), "r"(stores) : "memory");
    asm volatile("st.shared.b32 [%0], 7;" ::"r"(own) : "memory");
    return;
  }
  if (meet == Meet::cluster) pass();
  if (meet == Meet::cta) asm volatile("bar.sync 0;" ::: "memory");
  if (load(own) != 7) atomicAdd(stale, 1ull);
}

template <Between between>
void measure(const char* name, unsigned long long* counts) {
  must(cudaMemset(counts, 0, 16));
  publish<between><<<ctas, 64>>>(counts);
  must(cudaGetLastError());
  unsigned long long host[2];
  must(cudaMemcpy(host, counts, 16, cudaMemcpyDeviceToHost));
  std::printf("%-9s %llu words: %llu stale of the own CTA, %llu of the peer\n", name, ctas * 32ull * rounds, host[0],
              host[1]);
}

template <Meet meet>
void measure_exits(const char* name, unsigned long long* counts) {
  constexpr int launches = 20, grid = 65'536;
  for (const int stores : {0, 8, 64}) {
    must(cudaMemset(counts, 0, 16));
    for (int k = 0; k < launches; ++k) leave<meet><<<grid, 64>>>(counts, stores);
    must(cudaGetLastError());
    unsigned long long host = 0;
    must(cudaMemcpy(&host, counts, 8, cudaMemcpyDeviceToHost));
    std::printf("exit, %-8s after %2d stores: %llu of %llu words stale\n", name, stores, host, launches * grid * 32ull);
  }
}

int main() {
  unsigned long long* counts = nullptr;
  must(cudaMalloc(&counts, 16));
  measure<Between::none>("none", counts);
  measure<Between::relaxed>("relaxed", counts);
  measure<Between::released>("released", counts);
  measure_exits<Meet::none>("none", counts);
  measure_exits<Meet::cluster>("cluster", counts);
  measure_exits<Meet::cta>("cta", counts);
}
