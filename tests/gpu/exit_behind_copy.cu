/// Measures whether a GPU gives a CTA's shared memory to the next CTA before the CTA's own bulk copies are done with
/// it. Stores: each CTA fills most of an SM's shared memory with its own number, last words first, stores it to global
/// memory by bulk copies, and exits after `wait_group.read N` or none. A word that holds another CTA's number was read
/// late. `overwrite` is the control: the CTA itself writes zeros after the commit, which must be seen.
/// Loads: each CTA fills shared memory, looks whether a word changes, then starts loads of other words and exits. A
/// word that changed was written late; `linger` is the control, which waits for its own loads.
///
///     nvcc -arch=sm_90a -o exit_behind_copy exit_behind_copy.cu && ./exit_behind_copy
#include <cstdint>
#include <cstdio>
#include <cstdlib>

constexpr int bytes = 224 * 1024, words = bytes / 4, copies = 14, ring = 16384;

enum class End { exit, wait_one, overwrite };

void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(3);
}

template <End end>
__global__ void store(std::uint32_t* out, std::uint32_t first) {
  extern __shared__ __align__(128) std::uint32_t tile[];
  const std::uint32_t mine = first + blockIdx.x + 1;
  for (int at = words - 1 - int(threadIdx.x); at >= 0; at -= int(blockDim.x)) tile[at] = mine;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0)
    for (int copy = 0; copy < copies; ++copy) {
      const int part = words / copies;
      asm volatile(
          "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
          "cp.async.bulk.commit_group;" ::"l"(out + std::size_t(blockIdx.x) * words + copy * part),
          "r"(std::uint32_t(__cvta_generic_to_shared(tile + copy * part))), "r"(part * 4)
          : "memory");
    }
  if (end == End::wait_one && threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
  if (end == End::overwrite) {
    __syncthreads();
    for (int at = words - 1 - int(threadIdx.x); at >= 0; at -= int(blockDim.x)) tile[at] = 0;
  }
}

template <bool linger>
__global__ void load(const std::uint32_t* in, unsigned long long* wrong) {
  extern __shared__ __align__(128) std::uint32_t tile[];
  __shared__ __align__(8) std::uint64_t barrier;
  const auto start = [&] {
    const int part = words / copies;
    for (int copy = 0; copy < copies; ++copy)
      asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                       std::uint32_t(__cvta_generic_to_shared(tile + copy * part))),
                   "l"(in + (std::size_t(blockIdx.x) * copies + copy) * part), "r"(part * 4),
                   "r"(std::uint32_t(__cvta_generic_to_shared(&barrier)))
                   : "memory");
  };
  const std::uint32_t mine = blockIdx.x + 1;
  for (int at = threadIdx.x; at < words; at += blockDim.x) tile[at] = mine;
  if (threadIdx.x == 0)
    asm volatile(
        "mbarrier.init.shared::cta.b64 [%0], 1;\nmbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;\n"
        "fence.proxy.async.shared::cta;" ::"r"(std::uint32_t(__cvta_generic_to_shared(&barrier))),
        "r"(bytes)
        : "memory");
  __syncthreads();
  if (linger && threadIdx.x == 0) start();
  unsigned long long bad = 0;
  for (int look = 0; look < 4; ++look)
    for (int at = threadIdx.x; at < words; at += blockDim.x)
      bad += *static_cast<volatile std::uint32_t*>(tile + at) != mine;
  if (bad) atomicAdd(wrong, bad);
  __syncthreads();
  if (!linger && threadIdx.x == 0) start();
}

__global__ void count(const std::uint32_t* out, std::uint32_t first, unsigned long long* wrong) {
  const std::uint32_t mine = first + blockIdx.x + 1;
  unsigned long long bad = 0;
  for (int at = threadIdx.x; at < words; at += blockDim.x) bad += out[std::size_t(blockIdx.x) * words + at] != mine;
  if (bad) atomicAdd(wrong, bad);
}

template <End end>
void measure(const char* name, std::uint32_t* out, unsigned long long* wrong, int launches) {
  must(cudaMemset(wrong, 0, 8));
  must(cudaFuncSetAttribute(store<end>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  for (int launch = 0; launch < launches; ++launch) {
    store<end><<<ring, 512, bytes>>>(out, std::uint32_t(launch) * ring);
    count<<<ring, 256>>>(out, std::uint32_t(launch) * ring, wrong);
  }
  must(cudaGetLastError());
  unsigned long long host = 0;
  must(cudaMemcpy(&host, wrong, 8, cudaMemcpyDeviceToHost));
  std::printf("%-18s %10d CTAs, %llu of %llu words wrong\n", name, launches * ring, host,
              static_cast<unsigned long long>(launches) * ring * words);
}

template <bool linger>
void measure_load(const char* name, const std::uint32_t* in, unsigned long long* wrong, int launches) {
  must(cudaMemset(wrong, 0, 8));
  must(cudaFuncSetAttribute(load<linger>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  for (int launch = 0; launch < launches; ++launch) load<linger><<<ring, 512, bytes>>>(in, wrong);
  must(cudaGetLastError());
  unsigned long long host = 0;
  must(cudaMemcpy(&host, wrong, 8, cudaMemcpyDeviceToHost));
  std::printf("%-18s %10d CTAs, %llu words changed\n", name, launches * ring, host);
}

int main() {
  std::uint32_t* out = nullptr;
  unsigned long long* wrong = nullptr;
  must(cudaMalloc(&out, std::size_t(ring) * bytes));
  must(cudaMalloc(&wrong, 8));
  measure<End::overwrite>("store, overwrite", out, wrong, 4);
  measure<End::wait_one>("store, read 1", out, wrong, 200);
  measure<End::exit>("store, exit", out, wrong, 200);
  must(cudaMemset(out, 0xee, std::size_t(ring) * bytes));
  measure_load<true>("load, linger", out, wrong, 4);
  measure_load<false>("load, exit", out, wrong, 200);
}
