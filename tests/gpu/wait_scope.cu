/// Measures whether an mbarrier wait at CTA scope makes visible what the peer CTA wrote to global memory before its
/// arrival at cluster scope. Clusters of two CTAs. CTA 1 reads a line of global memory, so that its L1 holds it; CTA 0
/// writes it and arrives on the mbarrier of CTA 1 with .release.cluster; CTA 1 waits and reads again. An older value is
/// stale. The same line in shared memory of CTA 1 is the control, and what all kernels of clusters do.
///
///     nvcc -arch=sm_90a -o wait_scope wait_scope.cu && ./wait_scope
#include <cstdint>
#include <cstdio>
#include <cstdlib>

constexpr int clusters = 60, rounds = 100'000;

enum class Wait { acquire_cta, relaxed_cluster, acquire_cluster };

void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(3);
}

template <Wait how>
__device__ void wait(std::uint32_t bar, std::uint32_t parity) {
  if (how == Wait::acquire_cta)
    asm volatile(
        "{ .reg .pred p;\nL%=: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%0], %1; @!p bra L%=; }" ::"r"(
            bar),
        "r"(parity)
        : "memory");
  if (how == Wait::relaxed_cluster)
    asm volatile(
        "{ .reg .pred p;\nL%=: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p, [%0], %1; @!p bra L%=; }" ::
            "r"(bar),
        "r"(parity)
        : "memory");
  if (how == Wait::acquire_cluster)
    asm volatile(
        "{ .reg .pred p;\nL%=: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1; @!p bra L%=; }" ::
            "r"(bar),
        "r"(parity)
        : "memory");
}

template <Wait how>
__global__ __cluster_dims__(2) void hand_over(std::uint32_t* lines, unsigned long long* stale) {
  __shared__ alignas(8) std::uint64_t bar;
  __shared__ std::uint32_t own_word;
  std::uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  std::uint32_t* word = lines + 32 * (blockIdx.x / 2);
  const std::uint32_t at = std::uint32_t(__cvta_generic_to_shared(&bar));
  const std::uint32_t shared_at = std::uint32_t(__cvta_generic_to_shared(&own_word));
  std::uint32_t far_bar, far_word;
  asm("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(far_bar) : "r"(at));
  asm("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(far_word) : "r"(shared_at));
  if (threadIdx.x == 0) {
    own_word = 0;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(at) : "memory");
  }
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  unsigned long long stale_global = 0, stale_shared = 0;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    if (threadIdx.x == 0 && rank == 1) {
      std::uint32_t v;
      asm volatile("ld.global.ca.b32 %0, [%1];" : "=r"(v) : "l"(word) : "memory");
      if (v > round) stale_global += 1ull << 40;  // impossible
    }
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0 && rank == 0) {
      asm volatile("st.global.b32 [%0], %1;" ::"l"(word), "r"(round) : "memory");
      asm volatile("st.shared::cluster.b32 [%0], %1;" ::"r"(far_word), "r"(round) : "memory");
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(far_bar) : "memory");
    }
    if (threadIdx.x == 0 && rank == 1) {
      wait<how>(at, (round - 1) & 1);
      std::uint32_t v, s;
      asm volatile("ld.global.ca.b32 %0, [%1];" : "=r"(v) : "l"(word) : "memory");
      asm volatile("ld.shared.b32 %0, [%1];" : "=r"(s) : "r"(shared_at) : "memory");
      stale_global += v != round;
      stale_shared += s != round;
    }
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  }
  if (stale_global) atomicAdd(stale, stale_global);
  if (stale_shared) atomicAdd(stale + 1, stale_shared);
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

template <Wait how>
void measure(const char* name) {
  std::uint32_t* lines;
  unsigned long long* stale;
  must(cudaMalloc(&lines, clusters * 128));
  must(cudaMemset(lines, 0, clusters * 128));
  must(cudaMallocManaged(&stale, 16));
  stale[0] = stale[1] = 0;
  hand_over<how><<<2 * clusters, 32>>>(lines, stale);
  must(cudaDeviceSynchronize());
  std::printf("%-16s %d hand-overs: global stale %llu, shared stale %llu\n", name, clusters * rounds, stale[0],
              stale[1]);
  must(cudaFree(lines));
  must(cudaFree(stale));
}

int main() {
  measure<Wait::acquire_cta>(".acquire.cta");
  measure<Wait::relaxed_cluster>(".relaxed.cluster");
  measure<Wait::acquire_cluster>(".acquire.cluster");
}
