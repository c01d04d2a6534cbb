/// Measures whether registers of a wgmma that are touched before the wait for its group, or not fenced before it, hold
/// what the program order gives. Each kernel multiplies 64 x 8 x 16 ones in a loop and does one thing that PTX leaves
/// undefined.
///
///     for o in 0 1 3; do
///       nvcc -gencode arch=compute_90a,code=sm_90a -Xptxas -O$o -o wgmma_registers wgmma_registers.cu &&
///       ./wgmma_registers
///     done
#include <cuda_fp16.h>
#include <cstdint>
#include <cstdio>

constexpr int steps = 64, ctas = 132 * 8, launches = 20;

#define MMA(D, C) "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, " D ", 1, 1, 0, 0;\n" C
#define FENCE "wgmma.fence.sync.aligned;\n"
#define COMMIT "wgmma.commit_group.sync.aligned;\n"
#define WAIT "wgmma.wait_group.sync.aligned 0;\n"

enum Case { right, read_early, add_early, unfenced, write_early, fragment_changed, cases };
constexpr const char* names[] = {"right",
                                 "read before the wait",
                                 "changed before the wait",
                                 "no fence after a change",
                                 "zeroed before the wait",
                                 "fragment of A changed before the wait"};

template <Case c>
__global__ void __launch_bounds__(128) kernel(float* out, uint32_t one) {
  __shared__ alignas(1024) __half tile[64 * 16 + 8 * 16];
  for (int i = threadIdx.x; i < 64 * 16 + 8 * 16; i += 128) tile[i] = __float2half(1.0f);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const auto at = uint64_t(__cvta_generic_to_shared(tile)) >> 4;
  const uint64_t a = at | 0x0000001000080000ull, b = a + 128;
  float f0 = 0, f1 = 0, f2 = 0, f3 = 0, seen = 0;
  uint32_t x0 = one, x1 = one, x2 = one, x3 = one;  // two f16 of 1
  for (int k = 0; k < steps; ++k) {
    if constexpr (c == fragment_changed) {
      asm volatile(
          FENCE
          "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, 1, 1, 1, 0;\n" COMMIT
          "xor.b32 %4, %4, 0x80008000;\n xor.b32 %5, %5, 0x80008000;\n"
          "xor.b32 %6, %6, 0x80008000;\n xor.b32 %7, %7, 0x80008000;\n" WAIT
          : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3), "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)
          : "l"(b)
          : "memory");
      continue;
    }
    if constexpr (c != unfenced) asm volatile(FENCE ::: "memory");
    if constexpr (c == right || c == unfenced)
      asm volatile(MMA("1", COMMIT WAIT) : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3) : "l"(a), "l"(b) : "memory");
    if constexpr (c == unfenced) f0 += 1.0f, f1 += 1.0f, f2 += 1.0f, f3 += 1.0f;
    if constexpr (c == read_early)
      asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %5, %6, 1, 1, 1, 0, 0;\n" COMMIT
                   "mov.f32 %4, %3;\n" WAIT
                   : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3), "+f"(seen)
                   : "l"(a), "l"(b)
                   : "memory");
    if constexpr (c == add_early)
      asm volatile(MMA("1", COMMIT "add.f32 %0, %0, 0f3f800000; add.f32 %1, %1, 0f3f800000;\n"
                                   "add.f32 %2, %2, 0f3f800000; add.f32 %3, %3, 0f3f800000;\n" WAIT)
                   : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3)
                   : "l"(a), "l"(b)
                   : "memory");
    if constexpr (c == write_early)
      asm volatile(MMA("1", COMMIT "mov.f32 %0, 0f00000000; mov.f32 %1, 0f00000000;\n"
                                   "mov.f32 %2, 0f00000000; mov.f32 %3, 0f00000000;\n" WAIT)
                   : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3)
                   : "l"(a), "l"(b)
                   : "memory");
  }
  float* to = out + (blockIdx.x * 128 + threadIdx.x) * 5;
  to[0] = f0, to[1] = f1, to[2] = f2, to[3] = f3, to[4] = seen;
}

float expected(Case c) {
  switch (c) {
    case add_early:
    case unfenced: return 17.0f * steps;
    case write_early: return 0;
    case fragment_changed: return 0;  // plus and minus by turns
    default: return 16.0f * steps;
  }
}

template <Case c>
void run(float* out) {
  static float host[ctas * 128 * 5];
  long wrong = 0;
  for (int l = 0; l < launches; ++l) {
    kernel<c><<<ctas, 128>>>(out, 0x3c003c00u);
    if (cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess)
      return void(printf("%s: failed\n", names[c]));
    for (int i = 0; i < ctas * 128; ++i)
      for (int k = 0; k < 5; ++k)
        wrong += host[i * 5 + k] != (k < 4 ? expected(c) : c == read_early ? 16.0f * steps : 0.0f);
  }
  printf("%-40s %ld of %ld words wrong\n", names[c], wrong, long(launches) * ctas * 128 * 5);
}

int main() {
  float* out = nullptr;
  cudaMalloc(&out, sizeof(float) * ctas * 128 * 5);
  run<right>(out), run<read_early>(out), run<add_early>(out), run<unfenced>(out), run<write_early>(out);
  run<fragment_changed>(out);
}
