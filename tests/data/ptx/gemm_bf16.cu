// A warp-specialised tcgen05 GEMM as people write it in CUDA C++; gemm_bf16.ptx is what nvcc 13.0 makes of it:
//   nvcc -std=c++17 -arch=sm_100a -ptx gemm_bf16.cu
// Warp 0 initialises and frees, warp 1 allocates, warp 4 loads, warp 5 multiplies, warps 0-3 store.
#include <cuda_bf16.h>

#include <cstdint>

struct alignas(64) TensorMap { char bytes[128]; };

__device__ inline uint32_t elect() {
  uint32_t elected = 0;
  asm volatile(
      "{\n\t.reg .pred %%px;\n\telect.sync _|%%px, %1;\n\t@%%px mov.s32 %0, 1;\n\t}" : "+r"(elected) : "r"(0xFFFFFFFF));
  return elected;
}

__device__ inline void init(int mbar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(mbar), "r"(count));
}

__device__ inline void wait(int mbar, int phase) {
  asm volatile(
      "{\n\t.reg .pred P1;\n\tLAB_WAIT:\n\t"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 P1, [%0], %1, %2;\n\t"
      "@P1 bra.uni DONE;\n\tbra.uni LAB_WAIT;\n\tDONE:\n\t}" ::"r"(mbar), "r"(phase), "r"(0x989680));
}

__device__ inline void load(int to, const void* map, int x, int y, int mbar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(mbar) : "memory");
}

constexpr int BM = 128, BN = 256, BK = 64, stages = 4, stage_bytes = (BM + BN) * BK * 2;
__device__ constexpr uint64_t encode(uint64_t x) { return (x & 0x3FFFF) >> 4; }

__global__ __launch_bounds__(192) void gemm(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B,
                                            __nv_bfloat16* C, int N, int K) {
  extern __shared__ __align__(1024) char smem_raw[];
  const int smem = (int)__cvta_generic_to_shared(smem_raw);
  __shared__ uint64_t mbars[stages * 2 + 1];
  __shared__ int tmem_address[1];
  const int full = (int)__cvta_generic_to_shared(mbars), empty = full + stages * 8, done = empty + stages * 8;
  const int tid = threadIdx.x, warp = tid / 32;
  if (warp == 0 && elect()) {
    for (int i = 0; i < stages; i++) {
      init(full + i * 8, 1);
      init(empty + i * 8, 1);
    }
    init(done, 1);
    asm volatile("fence.mbarrier_init.release.cluster;");
  } else if (warp == 1) {
    const int slot = (int)__cvta_generic_to_shared(tmem_address);
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(slot), "r"(BN));
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;");
  const int taddr = tmem_address[0], iterations = K / BK;
  constexpr uint32_t idesc =
      (1u << 4) | (1u << 7) | (1u << 10) | ((uint32_t)BN >> 3 << 17) | ((uint32_t)BM >> 4 << 24);
  if (warp == 4) {
    if (elect())
      for (int i = 0; i < iterations; i++) {
        const int s = i % stages, phase = (i / stages) & 1;
        wait(empty + s * 8, phase ^ 1);
        asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(full + s * 8),
                     "r"(stage_bytes) : "memory");
        load(smem + s * stage_bytes, &A, i * BK, blockIdx.x * BM, full + s * 8);
        load(smem + s * stage_bytes + BM * BK * 2, &B, i * BK, blockIdx.y * BN, full + s * 8);
      }
  } else if (warp == 5) {
    if (elect()) {
      for (int i = 0; i < iterations; i++) {
        const int s = i % stages, phase = (i / stages) & 1;
        wait(full + s * 8, phase);
        asm volatile("tcgen05.fence::after_thread_sync;");
        const int a = smem + s * stage_bytes, b = a + BM * BK * 2;
        for (int k = 0; k < BK / 16; k++) {
          const uint64_t base = (encode(1024) << 32) | (1ull << 46) | (2ull << 61);
          asm volatile(
              "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %4, 0;\n\t"
              "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n\t}" ::"r"(taddr),
              "l"(base | encode(a + k * 32)), "l"(base | encode(b + k * 32)), "r"(idesc), "r"(i | k));
        }
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(empty + s * 8)
                     : "memory");
      }
      asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(done) : "memory");
    }
  } else {
    wait(done, 0);
    asm volatile("tcgen05.fence::after_thread_sync;");
#pragma unroll 2
    for (int n = 0; n < BN / 8; n++) {
      float t[8];
      asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
                   : "=f"(t[0]), "=f"(t[1]), "=f"(t[2]), "=f"(t[3]), "=f"(t[4]), "=f"(t[5]), "=f"(t[6]), "=f"(t[7])
                   : "r"(taddr + ((warp * 32) << 16) + n * 8));
      asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
      __nv_bfloat162 out[4];
      for (int i = 0; i < 4; i++) out[i] = __float22bfloat162_rn({t[2 * i], t[2 * i + 1]});
      *reinterpret_cast<int4*>(C + (size_t)(blockIdx.x * BM + tid) * N + blockIdx.y * BN + n * 8) =
          *reinterpret_cast<int4*>(out);
    }
  }
  __syncthreads();
  if (warp == 0)
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(taddr), "r"(BN));
}
