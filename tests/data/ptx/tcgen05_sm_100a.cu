// Tensor memory and tcgen05 by inline assembly, as kernels write it today. nvcc -arch=sm_100a -ptx
#include <cstdint>

__device__ __forceinline__ uint32_t smem(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }
__device__ __forceinline__ bool elect() {
  uint32_t p = 0;
  asm volatile(
      "{\n"
      "  .reg .pred %%px;  // a local predicate\n"
      "  elect.sync _|%%px, %1;\n"
      "  @%%px mov.s32 %0, 1;\n"
      "}\n"
      : "+r"(p)
      : "r"(0xFFFFFFFF));
  return p;
}

extern "C" __global__ void __launch_bounds__(192) mma(uint64_t a, uint64_t b, uint32_t idesc, float* out) {
  __shared__ uint32_t slot;
  __shared__ __align__(8) uint64_t done;
  const uint32_t warp = threadIdx.x / 32, bar = smem(&done);
  if (warp == 0) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(smem(&slot)), "n"(256));
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar));
  }
  asm volatile("tcgen05.fence::before_thread_sync;");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;");
  const uint32_t tmem = slot;
  if (warp == 5 && elect()) {
    for (int k = 0; k < 4; ++k) {
      asm volatile(
          "{\n\t"
          ".reg .pred p;\n\t"
          "setp.ne.b32 p, %4, 0;\n\t"
          "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, {%5, %6, %7, %8}, p; \n\t"
          "}\n" ::"r"(tmem), "l"(a + k * 2), "l"(b + k * 2), "r"(idesc), "r"(k), "r"(0u), "r"(0u), "r"(0u), "r"(0u));
      asm volatile(
          "{ .reg .pred p; setp.ne.b32 p, %6, 0; tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%0], %1, "
          "%2, %3, [%4], [%5+0], p; }" ::"r"(tmem), "l"(a), "l"(b), "r"(idesc), "r"(tmem + 128), "r"(tmem + 132), "r"(k));
      asm volatile("tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b0::fill [%0], [%1], %2, %3, 1;" ::"r"(tmem),
                   "r"(tmem + 64), "l"(b), "r"(idesc));
      asm volatile("tcgen05.cp.cta_group::1.64x128b.warpx2::02_13 [%0], %1;" ::"r"(tmem + 128), "l"(a));
      asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4.b8x16.b6x16_p32 [%0], %1;" ::"r"(tmem + 128), "l"(a));
    }
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar) : "memory");
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(bar),
                 "h"(uint16_t(3))
                 : "memory");
  }
  if (warp < 4) {
    asm volatile(
        "{\n\t.reg .pred P1;\n\tWAIT:\n\tmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1, 0x989680;\n\t@P1 bra "
        "DONE;\n\tbra WAIT;\n\tDONE:\n\t}" ::"r"(bar),
        "r"(0));
    uint32_t r[8];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                 : "r"(tmem + (warp << 21)));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    asm volatile("tcgen05.st.sync.aligned.16x32bx2.x1.unpack::16b.b32 [%0], 16, {%1};" ::"r"(tmem), "r"(r[0]));
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    asm volatile("tcgen05.shift.cta_group::1.down [%0];" ::"r"(tmem));
    for (int i = 0; i < 8; ++i) out[threadIdx.x * 8 + i] = __uint_as_float(r[i]);
  }
  __syncthreads();
  if (warp == 0) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(tmem), "r"(256));
}

extern "C" __global__ void next_tile(uint32_t* out) {
  __shared__ __align__(16) uint4 response;
  __shared__ __align__(8) uint64_t bar;
  uint32_t x = 0, ok = 0;
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%0], [%1];" ::
          "r"(smem(&response)),
      "r"(smem(&bar))
      : "memory");
  asm volatile(
      "{\n.reg .pred p1;\n.reg .b128 clc_result;\n"
      "ld.shared.b128 clc_result, [%2];\n"
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p1, clc_result;\n"
      "selp.u32 %1, 1, 0, p1;\n"
      "@p1 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%0, _, _, _}, clc_result;\n}\n"
      : "=r"(x), "=r"(ok)
      : "r"(smem(&response))
      : "memory");
  out[0] = x + ok;
}
