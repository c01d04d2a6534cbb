/// Measures whether shared memory in which an mbarrier lives can be used for data without mbarrier.inval. Sixteen
/// mbarriers go through none to four phases; then stores take their bytes, and other threads read them at once and a
/// while later. Afterwards the bytes become mbarriers again, as if they had never been any.
///
///     nvcc -arch=sm_90a -o mbarrier_memory mbarrier_memory.cu && ./mbarrier_memory
#include <cstdint>
#include <cstdio>
#include <cstdlib>

constexpr int threads = 128, ctas = 132, rounds = 20000, barriers = 16;

enum class Left { idle, invalidated, bytes_expected, half_arrived };

void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(3);
}

__device__ void arrive(std::uint32_t at) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory");
}
__device__ void await(std::uint32_t at, int parity) {
  std::uint32_t done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(at), "r"(parity)
                 : "memory");
}
__device__ std::uint64_t load(std::uint32_t at) {
  std::uint64_t v;
  asm volatile("ld.shared::cta.b64 %0, [%1];" : "=l"(v) : "r"(at) : "memory");
  return v;
}

template <Left left>
__global__ void take(unsigned long long* lost) {
  __shared__ __align__(16) std::uint64_t memory[barriers];
  const std::uint32_t base = std::uint32_t(__cvta_generic_to_shared(memory)), id = threadIdx.x;
  constexpr int arrivals = left == Left::half_arrived ? 2 : 1;
  for (int round = 0; round < rounds; ++round) {
    const std::uint32_t own = base + 8 * id;
    if (id < barriers) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(own), "r"(arrivals) : "memory");
    __syncthreads();
    for (int phase = 0; phase < round % 5; ++phase) {
      if (id < barriers * arrivals) arrive(base + 8 * (id % barriers));
      await(base + 8 * (id % barriers), phase & 1);
    }
    if (id < barriers && left == Left::bytes_expected)
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 64;" ::"r"(own) : "memory");
    if (id < barriers && left == Left::half_arrived) arrive(own);
    __syncthreads();
    if (id < barriers && left == Left::invalidated)
      asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(own) : "memory");
    __syncthreads();
    const auto value = [&](std::uint32_t k) {
      return 0x9E3779B97F4A7C15ull * (std::uint64_t(round) * barriers + k + 1);
    };
    if (id < barriers) asm volatile("st.shared::cta.b64 [%0], %1;" ::"r"(own), "l"(value(id)) : "memory");
    __syncthreads();
    const std::uint32_t other = (id + 5) % barriers;
    bool wrong = load(base + 8 * other) != value(other);
    if (round % 7 == 0) {
      __nanosleep(500);
      wrong |= load(base + 8 * other) != value(other);
    }
    if (wrong) atomicAdd(lost, 1ull);
    __syncthreads();
  }
}

template <Left left>
void measure(const char* name, unsigned long long* lost) {
  must(cudaMemset(lost, 0, 8));
  take<left><<<ctas, threads>>>(lost);
  must(cudaGetLastError());
  unsigned long long host = 0;
  must(cudaMemcpy(&host, lost, 8, cudaMemcpyDeviceToHost));
  std::printf("%-28s %lld stores, %llu loads of something else\n", name, 1ll * ctas * rounds * barriers, host);
}

int main() {
  unsigned long long* lost = nullptr;
  must(cudaMalloc(&lost, 8));
  measure<Left::invalidated>("mbarrier.inval", lost);
  measure<Left::idle>("no phase has begun", lost);
  measure<Left::bytes_expected>("a phase expects bytes", lost);
  measure<Left::half_arrived>("a phase expects an arrival", lost);
}
