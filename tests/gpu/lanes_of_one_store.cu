/// Measures which lane's value stays when the lanes of a warp store different values to one address with one
/// instruction.
///
///     nvcc -arch=sm_90a -o lanes_of_one_store lanes_of_one_store.cu && ./lanes_of_one_store
#include <cstdint>
#include <cstdio>
#include <cstdlib>

constexpr int rounds = 100000;

void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(3);
}

enum class Store { shared_b32, global_b32, shared_b32_without_lane_0, shared_v4 };

template <Store store>
__global__ void all_lanes(unsigned* wins, unsigned* memory) {
  __shared__ __align__(16) unsigned own[4];
  const unsigned lane = threadIdx.x, at = unsigned(__cvta_generic_to_shared(own));
  for (int round = 0; round < rounds; ++round) {
    if (store == Store::global_b32) {
      asm volatile("st.global.b32 [%0], %1;" ::"l"(memory), "r"(lane) : "memory");
    } else if (store == Store::shared_v4) {
      asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(at), "r"(lane) : "memory");
    } else if (store == Store::shared_b32 || lane != 0) {
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(lane) : "memory");
    }
    __syncwarp();
    const unsigned left = store == Store::global_b32 ? *(volatile unsigned*)memory : *(volatile unsigned*)own;
    if (lane == 0) atomicAdd(&wins[left], 1u);
    __syncwarp();
  }
}

template <Store store>
void measure(const char* name, unsigned* wins, unsigned* memory) {
  must(cudaMemset(wins, 0, 128));
  all_lanes<store><<<1, 32>>>(wins, memory);
  unsigned host[32];
  must(cudaMemcpy(host, wins, sizeof host, cudaMemcpyDeviceToHost));
  std::printf("%-36s", name);
  for (int lane = 0; lane < 32; ++lane)
    if (host[lane]) std::printf(" lane %d: %u", lane, host[lane]);
  std::printf("\n");
}

int main() {
  unsigned *wins = nullptr, *memory = nullptr;
  must(cudaMalloc(&wins, 128));
  must(cudaMalloc(&memory, 16));
  measure<Store::shared_b32>("st.shared.b32", wins, memory);
  measure<Store::global_b32>("st.global.b32", wins, memory);
  measure<Store::shared_b32_without_lane_0>("st.shared.b32, not by lane 0", wins, memory);
  measure<Store::shared_v4>("st.shared.v4.b32", wins, memory);
}
