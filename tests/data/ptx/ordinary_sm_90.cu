// What ordinary kernels are made of: reductions, a softmax, switches, device functions, virtual calls, printf and assert.
// nvcc -O3 -arch=sm_90 -ptx
#include <cassert>
#include <cooperative_groups.h>
#include <cstdio>

namespace cg = cooperative_groups;

// The sum of each block, through warps and shared memory.
extern "C" __global__ void reduce(const float* in, float* out, int n) {
  __shared__ float partial[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  for (int k = 16; k; k >>= 1) sum += __shfl_xor_sync(~0u, sum, k);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int k = 16; k; k >>= 1) sum += __shfl_down_sync(~0u, sum, k);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
  }
}

// One row to a block.
extern "C" __global__ void softmax(const float* in, float* out, int columns) {
  __shared__ float shared[33];
  const float* row = in + blockIdx.x * columns;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, row[i]);
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  for (int k = 16; k; k >>= 1) most = fmaxf(most, warp.shfl_xor(most, k));
  if (warp.thread_rank() == 0) shared[warp.meta_group_rank()] = most;
  block.sync();
  most = shared[0];
  for (unsigned w = 1; w < warp.meta_group_size(); ++w) most = fmaxf(most, shared[w]);
  block.sync();
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - most);
  for (int k = 16; k; k >>= 1) sum += warp.shfl_xor(sum, k);
  if (warp.thread_rank() == 0) shared[warp.meta_group_rank()] = sum;
  block.sync();
  sum = 0;
  for (unsigned w = 0; w < warp.meta_group_size(); ++w) sum += shared[w];
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[blockIdx.x * columns + i] = expf(row[i] - most) / sum;
}

// A dense switch: a table of branches, with different work in each.
extern "C" __global__ void interpret(const int* program, const int* in, int* out, int steps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int x = in[i], y = 1;
  for (int k = 0; k < steps; ++k) {
    switch (program[(i + k) % steps]) {
      case 0: x += y; break;
      case 1: x = x * 3 + 1; break;
      case 2: y ^= x; break;
      case 3: x = x / (y | 1); break;
      case 4: y = __popc(x) + y; break;
      case 5: x = y % 7 - x; break;
      case 6: { int t = x; x = y; y = t; } break;
      case 7: x = __clz(x) << (y & 15); break;
      case 8: y = min(x, y); break;
      default: x = -x; break;
    }
  }
  out[i] = x + y;
}

struct Shape {
  float size;
  __device__ virtual float area() const = 0;
  __device__ virtual float twice() const { return 2 * area(); }
};
struct Square : Shape {
  __device__ __noinline__ float area() const override { return size * size; }
};
struct Circle : Shape {
  __device__ __noinline__ float area() const override { return 3 * size * size; }
  __device__ __noinline__ float twice() const override { return 7 * size * size; }
};

using Function = int (*)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ Function table[3] = {plus, minus, times};

struct Pair {
  double first;
  int second[3];
};
__device__ __noinline__ Pair swap_ends(Pair p, int by) {
  const int t = p.second[0];
  p.second[0] = p.second[2] + by;
  p.second[2] = t;
  p.first *= by;
  return p;
}

// Virtual calls, a table of functions and a structure by value, all of them divergent.
extern "C" __global__ void dispatch(float* areas, int* values, double* firsts) {
  const int i = threadIdx.x;
  Square square;
  Circle circle;
  square.size = circle.size = float(i);
  Shape* shape = i % 3 ? static_cast<Shape*>(&square) : static_cast<Shape*>(&circle);
  areas[i] = i & 1 ? shape->area() : shape->twice();
  Pair p{double(i), {i, i + 1, i + 2}};
  if (i % 5 < 3) p = swap_ends(p, i % 5);
  firsts[i] = p.first;
  values[i] = table[i % 3](p.second[0], p.second[2]);
}

extern "C" __global__ void talk(const float* in, int least) {
  const int i = threadIdx.x;
  assert(in[i] >= least && "too small");
  if (i % 16 == 1) printf("%s %d: %.2f%c 0x%05x %llu\n", "thread", i, in[i], '!', i * 4097, 1ull << (i + 32));
}

// Every block counts; the last one to finish sums up.
__device__ unsigned finished;
extern "C" __global__ void histogram(const unsigned char* in, unsigned* bins, unsigned long long* total, int n) {
  __shared__ unsigned local[256];
  __shared__ bool last;
  for (int b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x)
    if (local[b]) atomicAdd(&bins[b], local[b]);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last)
    for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(total, (unsigned long long)b * bins[b]);
}
