// What numeric kernels are made of: double precision, halves, tables in constant memory, scans and sorts.
// nvcc -O3 -arch=sm_90 -ptx
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__constant__ double weights[4] = {0.25, -1.5, 3.0, 1e-3};

// A polynomial, a division, a root and an exponential in double precision.
extern "C" __global__ void doubles(const double* in, double* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double x = in[i];
  double p = weights[0];
  for (int k = 1; k < 4; ++k) p = p * x + weights[k];
  out[i] = sqrt(fabs(p)) / (1.0 + x * x) + exp(-fabs(x)) - floor(x) + fmin(x, p);
}

// Two halves at a time.
extern "C" __global__ void axpy(const __half2* x, __half2* y, __nv_bfloat162* z, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __half2 s = __float2half2_rn(a);
  y[i] = __hfma2(s, x[i], y[i]);
  if (__hgt(__low2half(y[i]), __high2half(y[i]))) y[i] = __lowhigh2highlow(y[i]);
  z[i] = __hmul2(z[i], __float22bfloat162_rn(__half22float2(__hmax2(y[i], x[i]))));
}

// An inclusive scan of each block of 64-bit integers, then the rank of each within its block.
extern "C" __global__ void scan(const long long* in, long long* out, int* rank) {
  __shared__ long long values[256];
  const int t = threadIdx.x;
  const long long mine = in[blockIdx.x * 256 + t];
  values[t] = mine;
  __syncthreads();
  for (int step = 1; step < 256; step *= 2) {
    const long long before = t >= step ? values[t - step] : 0;
    __syncthreads();
    values[t] += before;
    __syncthreads();
  }
  out[blockIdx.x * 256 + t] = values[t];
  __syncthreads();
  values[t] = mine;
  __syncthreads();
  int smaller = 0;
  for (int k = 0; k < 256; ++k) smaller += values[k] < mine || (values[k] == mine && k < t);
  rank[blockIdx.x * 256 + t] = smaller;
}

// Votes, matches and a ballot compaction.
extern "C" __global__ void compact(const int* in, int* out, int* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  const int v = i < n ? in[i] : -1;
  const unsigned keep = __ballot_sync(~0u, v >= 0);
  const unsigned same = __match_any_sync(~0u, v);
  int base = 0;
  if (lane == 0 && keep) base = atomicAdd(count, __popc(keep));
  base = __shfl_sync(~0u, base, 0);
  if (v >= 0) out[base + __popc(keep & ((1u << lane) - 1))] = v * 64 + __popc(same);
}
