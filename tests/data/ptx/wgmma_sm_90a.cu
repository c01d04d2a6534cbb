// Warpgroup matrix multiplication and TMA by inline assembly. nvcc -arch=sm_90a -ptx
#include <cstdint>
#include <cuda.h>

__device__ __forceinline__ uint32_t smem(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

__device__ __forceinline__ void wait(uint32_t bar, uint32_t phase) {
  asm volatile(
      "{\n"
      ".reg .pred P1;\n"
      "LAB_WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
      "@P1 bra.uni DONE;\n"
      "bra.uni LAB_WAIT;\n"
      "DONE:\n"
      "}\n" ::"r"(bar), "r"(phase));
}

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(256, 1)
    gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* out, int k_tiles) {
  extern __shared__ __align__(1024) uint8_t tiles[];
  __shared__ __align__(8) uint64_t full[2];
  const uint32_t bar = smem(&full[0]);
  float d[4] = {};
  if (threadIdx.x == 0) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&a) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(1));
    asm volatile("mbarrier.init.shared::cta.b64 [%0+8], 0x1;" ::"r"(bar));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (threadIdx.x >= 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 128) {
      for (int k = 0; k < k_tiles; ++k) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(32768) : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
                smem(tiles)),
            "l"(&a), "r"(bar), "r"(k * 64), "r"(int(blockIdx.x) * 64)
            : "memory");
        asm volatile(
            "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_"
            "hint [%0], [%1, {%3, %4, 0}], [%2], %5, %6;" ::"r"(smem(tiles + 16384)),
            "l"(&b), "r"(bar), "r"(k * 64), "r"(int(blockIdx.y) * 64), "h"(uint16_t(3)), "l"(0x1000000000000000ull)
            : "memory");
        asm volatile(
            "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, 0}], "
            "[%2], {%6, %7};" ::"r"(smem(tiles)),
            "l"(&b), "r"(bar), "r"(k), "r"(1), "r"(2), "h"(uint16_t(k)), "h"(uint16_t(1))
            : "memory");
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    for (int k = 0; k < k_tiles; ++k) {
      wait(bar, k & 1);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      asm volatile(
          "{\n"
          ".reg .pred p;\n"
          "setp.ne.b32 p, %6, 0;\n"
          "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
          "{%0, %1, %2, %3}, %4, %5, p, 1, -1, 0, 1;\n"
          "}\n"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "l"(uint64_t(smem(tiles) >> 4)), "l"(uint64_t(smem(tiles + 16384) >> 4) | 1ull << 62), "r"(k));
      asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(0) : "memory");
    }
    for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&a), "r"(smem(tiles)),
                 "r"(0), "r"(0)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(0) : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(out), "r"(smem(tiles)),
                 "r"(1024)
                 : "memory");
  }
  uint32_t remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(bar), "r"(1));
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
  asm volatile("griddepcontrol.launch_dependents;");
}
