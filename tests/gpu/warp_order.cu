/// Measures the order of accesses by lanes of one warp without bar.warp.sync between them, and behind elect.sync. Each
/// round has words of its own; a word of another round, or one that came too late, is counted.
///
///   stmatrix   the warp stores rows with stmatrix, and each lane loads a word that another lane gave
///   ldmatrix   each lane stores a word, and the warp loads all of them with ldmatrix
///   stores     each lane stores a word, and loads that of another lane: not of a warp-wide instruction, for comparison
///   elect      each lane stores 64 bytes to global memory by a bulk copy and waits until they are read; elect.sync; one
///              lane arrives; another warp overwrites the bytes. What reached global memory must be the old bytes.
///   alone      the same without the waits of the lanes: the control, where bytes are lost if the copies take their time
///
///     nvcc -arch=sm_90a -o warp_order warp_order.cu && ./warp_order
#include <cstdint>
#include <cstdio>
#include <cstdlib>

constexpr int ctas = 264, rounds = 100'000, copy_bytes = 64, copy_rounds = 2'000;

void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(3);
}

__device__ std::uint32_t address(const void* p) { return std::uint32_t(__cvta_generic_to_shared(p)); }
__device__ void store(std::uint32_t at, std::uint32_t value) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(value) : "memory");
}
__device__ std::uint32_t load(std::uint32_t at) {
  std::uint32_t v;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
  return v;
}
__device__ void sync_warp() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

enum class Order { stmatrix, ldmatrix, stores };

// A row of 8 b16 is four words: word w of row r belongs to lane 4 * r + w.
template <Order order>
__global__ void in_warp(unsigned long long* late) {
  __shared__ alignas(128) std::uint32_t rows[32], queue[32 * 32];
  const std::uint32_t lane = threadIdx.x, base = address(rows), bank = address(queue + 32 * lane);
  const std::uint32_t row = base + 16 * (lane & 7), other = (lane + 13) & 31;
  unsigned long long wrong = 0;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    // Stores that queue for one bank, so that what follows has to wait.
    if (round & 1)
      for (int k = 0; k < 8; ++k) store(bank + 4 * k, round);
    std::uint32_t found = 0, wanted = round * 32 + other;
    if (order == Order::stmatrix) {
      asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(row), "r"(round * 32 + lane) : "memory");
      found = load(base + 4 * other);
    } else if (order == Order::ldmatrix) {
      store(base + 4 * ((lane + 5) & 31), round * 32 + ((lane + 5) & 31));
      asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(found) : "r"(row) : "memory");
      wanted = round * 32 + lane;
    } else {
      store(base + 4 * lane, round * 32 + lane);
      found = load(base + 4 * other);
    }
    wrong += found != wanted;
    sync_warp();
  }
  if (wrong) atomicAdd(late, wrong);
}

// Warp 0 copies out and says so; warp 1 overwrites.
template <bool waits>
__global__ void elect(std::uint32_t* out, unsigned long long* late) {
  __shared__ alignas(128) std::uint32_t words[32][copy_bytes / 4];
  __shared__ alignas(8) std::uint64_t free, full;
  const std::uint32_t lane = threadIdx.x % 32, own = address(words[lane]);
  std::uint32_t* const to = out + (blockIdx.x * 32 + lane) * (copy_bytes / 4);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&free)) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(address(&full)) : "memory");
  }
  __syncthreads();
  const auto wait = [](std::uint32_t bar, std::uint32_t parity) {
    asm volatile("{\n.reg .pred p;\nW: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra W;\n}" ::"r"(bar),
                 "r"(parity)
                 : "memory");
  };
  unsigned long long wrong = 0;
  for (std::uint32_t round = 0; round < copy_rounds; ++round) {
    if (threadIdx.x >= 32) {
      if (round) wait(address(&free), (round - 1) & 1);
      for (int k = 0; k < copy_bytes / 4; ++k) store(own + 4 * k, round);
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(&full)) : "memory");
      continue;
    }
    wait(address(&full), round & 1);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(own), "n"(copy_bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    if (waits) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    asm volatile(
        "{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\n@p mbarrier.arrive.shared::cta.b64 _, [%0];\n}" ::"r"(
            address(&free))
        : "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    for (int k = 0; k < copy_bytes / 4; ++k) wrong += *(volatile std::uint32_t*)(to + k) != round;
  }
  if (wrong) atomicAdd(late, wrong);
}

int main() {
  unsigned long long *late = nullptr, host = 0;
  std::uint32_t* out = nullptr;
  must(cudaMalloc(&late, 8));
  must(cudaMalloc(&out, std::size_t(ctas) * 32 * copy_bytes));
  const auto report = [&](const char* name, unsigned long long words) {
    must(cudaGetLastError());
    must(cudaMemcpy(&host, late, 8, cudaMemcpyDeviceToHost));
    std::printf("%-9s %llu of %llu words wrong\n", name, host, words);
    must(cudaMemset(late, 0, 8));
  };
  must(cudaMemset(late, 0, 8));
  constexpr unsigned long long words = 32ull * ctas * rounds, copied = 32ull * ctas * copy_rounds * (copy_bytes / 4);
  in_warp<Order::stmatrix><<<ctas, 32>>>(late);
  report("stmatrix", words);
  in_warp<Order::ldmatrix><<<ctas, 32>>>(late);
  report("ldmatrix", words);
  in_warp<Order::stores><<<ctas, 32>>>(late);
  report("stores", words);
  elect<true><<<ctas, 64>>>(out, late);
  report("elect", copied);
  elect<false><<<ctas, 64>>>(out, late);
  report("alone", copied);
}
