// Cooperative groups, clusters and barriers of the library. nvcc -arch=sm_90 -std=c++17 -ptx
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
namespace cg = cooperative_groups;

extern "C" __global__ void reduce(const int* in, int* out, int n) {
  extern __shared__ int tile[];
  auto block = cg::this_thread_block();
  auto cluster = cg::this_cluster();
  cg::memcpy_async(block, tile, in + block.group_index().x * 256, sizeof(int) * 256);
  cg::wait(block);
  auto warp = cg::tiled_partition<32>(block);
  int sum = cg::reduce(warp, tile[block.thread_rank()], cg::plus<int>());
  auto active = cg::coalesced_threads();
  if (warp.thread_rank() == 0) atomicAdd(cluster.map_shared_rank(tile, 0), sum + int(active.size()));
  cluster.sync();
  if (cluster.thread_rank() == 0) out[blockIdx.x] = tile[0];
}

extern "C" __global__ void barrier(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  auto token = bar.arrive();
  out[threadIdx.x] = 1;
  bar.wait(std::move(token));
  cg::this_grid().sync();
}
