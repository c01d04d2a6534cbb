// Arithmetic, constant tables, strings, switch tables, vectors, volatile and atomic memory.
// nvcc -arch=sm_80 -ptx
#include <cstdint>

__constant__ float weights[8] = {0.5f, -1.25f, 3.0e38f, 1e-40f, 0.f, -0.f, 7.f, 8.f};
__constant__ int64_t wide[2][2] = {{-1, 1}, {INT64_MIN, INT64_MAX}};
__device__ const char words[3][8] = {"zero", "one", "two\n"};
__device__ const char* const names[] = {"alpha", "beta", "gamma"};
__device__ int counters[16];
__device__ int* where = counters + 3;
__device__ __managed__ unsigned shared_with_host = 7;
__device__ volatile int flag;
struct Packed {
  char c;
  short s;
  const int* p;
  double d;
};
__device__ Packed packed = {'x', -2, counters, 2.5};
extern __shared__ float dynamic[];

extern "C" __global__ void __launch_bounds__(256, 2) saxpy(float a, const float* __restrict__ x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + weights[i & 7] * y[i];
}

extern "C" __global__ void classify(const int* in, int* out, int64_t* big) {
  const int i = threadIdx.x;
  int r = 0;
  switch (in[i]) {
    case 0: r = counters[1]; break;
    case 1: r = in[i + 1] * 3; break;
    case 2: r = __popc(in[i + 2]); break;
    case 3: r = __clz(in[i + 3]) / in[i]; break;
    case 4: r = in[i + 4] % 7; flag = 1; break;
    case 5: r = atomicAdd(&counters[2], 5); break;
    case 6: r = __float_as_int(sqrtf(in[i])); break;
    case 7: __trap();
    default: r = words[in[i] % 3][i & 7];
  }
  out[i] = r + int(wide[i & 1][0]) + *where;
  big[i] = int64_t(r) * wide[1][i & 1];
}

extern "C" __global__ void vectors(const float4* in, double2* out, const uchar4* bytes, const char** text, longlong2* l) {
  const float4 v = in[threadIdx.x];
  const uchar4 b = bytes[threadIdx.x];
  dynamic[threadIdx.x] = v.x + v.y + b.x;
  __syncthreads();
  out[threadIdx.x] = make_double2(v.z * dynamic[31 - threadIdx.x], v.w / packed.d + b.w);
  text[threadIdx.x] = names[b.y % 3];
  l[threadIdx.x] = make_longlong2(clock64(), (long long)packed.p);
}

extern "C" __global__ void atomics(unsigned* u, unsigned long long* ull, float* f, double* d, int* lock) {
  __shared__ int hits;
  if (threadIdx.x == 0) hits = 0;
  __syncthreads();
  atomicInc(&u[0], 100);
  atomicMax(&u[1], threadIdx.x);
  atomicCAS(&ull[0], 1ull, ~0ull);
  atomicAdd(f, 1.5f);
  atomicAdd(d, 1e300);
  atomicAdd_block(&hits, 1);
  atomicExch_system(lock, 0x7fffffff);
  while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
  __threadfence();
  flag = hits;
  __threadfence_system();
  u[2] = __ballot_sync(0xffffffffu, flag > 3) + __shfl_xor_sync(0xffffffffu, threadIdx.x, 5);
  shared_with_host += __reduce_add_sync(0xffffffffu, threadIdx.x) + __match_any_sync(0xffffffffu, u[3]);
}

extern "C" __global__ void doubles(double* d, float* f, int n) {
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    d[i] = exp(d[i]) + sin(d[i] * 3.14159265358979) + fma(d[i], 2.0, -1.0);
    f[i] = __expf(f[i]) + tanhf(f[i]) + rsqrtf(f[i]) + __fdividef(f[i], 3.f);
  }
}
