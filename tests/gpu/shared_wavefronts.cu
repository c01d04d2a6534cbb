/// One store of a warp to shared memory for each pattern of addresses; a profiler counts the wavefronts that it takes.
/// The patterns go to stdout: bytes of a lane, then the addresses of its 32 lanes. What an H200 took is in
/// tests/data/gpu/shared_wavefronts.txt.
///
///     nvcc -arch=sm_90a -std=c++17 -o shared_wavefronts shared_wavefronts.cu
///     ncu --csv --metrics l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum ./shared_wavefronts
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>

constexpr int lanes = 32, shared_bytes = 64 * 1024;

void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(3);
}

template <int bytes>
__global__ void store(const std::uint32_t* addresses) {
  extern __shared__ __align__(1024) char memory[];
  const std::uint32_t at = std::uint32_t(__cvta_generic_to_shared(memory)) + addresses[threadIdx.x];
  if constexpr (bytes == 1) asm volatile("st.shared.b8 [%0], %1;" ::"r"(at), "h"(short(1)) : "memory");
  if constexpr (bytes == 2) asm volatile("st.shared.b16 [%0], %1;" ::"r"(at), "h"(short(1)) : "memory");
  if constexpr (bytes == 4) asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(1) : "memory");
  if constexpr (bytes == 8) asm volatile("st.shared.v2.b32 [%0], {%1, %1};" ::"r"(at), "r"(1) : "memory");
  if constexpr (bytes == 16) asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(at), "r"(1) : "memory");
}

template <int bytes>
void measure(const std::function<std::uint32_t(std::uint32_t)>& address) {
  static std::uint32_t* on_device = nullptr;
  std::uint32_t host[lanes];
  std::printf("%d", bytes);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) std::printf(" %u", host[lane] = address(lane) / bytes * bytes);
  std::printf("\n");
  if (!on_device) must(cudaMalloc(&on_device, sizeof host));
  must(cudaMemcpy(on_device, host, sizeof host, cudaMemcpyHostToDevice));
  must(cudaFuncSetAttribute(store<bytes>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  store<bytes><<<1, lanes, shared_bytes>>>(on_device);
  must(cudaDeviceSynchronize());
}

template <int bytes>
void measure_all() {
  for (const std::uint32_t stride : {0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 12, 20, 24, 40, 48, 68, 72, 80, 132, 136, 144, 160, 272})
    if (stride % bytes == 0) measure<bytes>([&](std::uint32_t l) { return l * stride; });
  for (const std::uint32_t rows : {8, 4, 2, 1})  // of a swizzle's pattern
    measure<bytes>([&](std::uint32_t l) { return l * 128 ^ (l % rows) << 4; });
  std::uint32_t random = 1;
  for (const std::uint32_t size : {4096, 4096, 4096, 512, 512, 512})
    measure<bytes>([&](std::uint32_t) { return (random = random * 1664525u + 1013904223u) >> 8 & (size - 1); });
  for (const std::uint32_t times : {2, 4}) {
    measure<bytes>([&](std::uint32_t l) { return l / times * bytes; });
    measure<bytes>([&](std::uint32_t l) { return l % (lanes / times) * bytes; });
  }
  measure<bytes>([](std::uint32_t l) { return l * 7 % lanes * bytes; });
  measure<bytes>([](std::uint32_t l) { return (l % 2 * 16 + l / 2) * bytes; });
  measure<bytes>([](std::uint32_t l) { return (l % 4 * 8 + l / 4) * bytes; });
}

int main() {
  measure_all<1>(), measure_all<2>(), measure_all<4>(), measure_all<8>(), measure_all<16>();
}
