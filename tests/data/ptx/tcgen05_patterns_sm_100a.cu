// Kernels that do by hand what the verifier asks for: a pair of CTAs, operands written by threads, an operand kept in
// tensor memory, block scales. nvcc -arch=sm_100a -ptx
#include <cstdint>

namespace {

__device__ __forceinline__ uint32_t smem(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }
__device__ __forceinline__ bool elect() {
  uint32_t p;
  asm volatile("{ .reg .pred q; elect.sync _|q, -1; selp.u32 %0, 1, 0, q; }" : "=r"(p));
  return p != 0;
}
__device__ __forceinline__ void init(uint64_t& bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem(&bar)), "r"(count));
}
__device__ __forceinline__ void wait(uint64_t& bar, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\nW: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra D;\nbra W;\nD:\n}" ::"r"(
          smem(&bar)),
      "r"(parity)
      : "memory");
}
__device__ __forceinline__ void before() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
__device__ __forceinline__ void after() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
// K-major, 128-byte swizzle, 1024 bytes for eight rows.
__device__ __forceinline__ uint64_t describe(const void* tile) {
  return 0x4000404000010000ull | (smem(tile) & 0x3FFFF) >> 4;
}
__device__ __forceinline__ void load4(uint32_t (&x)[4], uint32_t at) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];\ntcgen05.wait::ld.sync.aligned;"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(at)
               : "memory");
}

}  // namespace

// Two CTAs multiply 256 x 128 together; the even one issues, both read their half.
extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(128)
    pair(const uint8_t* from, uint4* to, uint32_t steps) {
  extern __shared__ __align__(1024) uint8_t tiles[];
  __shared__ uint32_t slot;
  __shared__ __align__(8) uint64_t full, done;
  const uint32_t warp = threadIdx.x / 32;
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    init(full, 1);
    init(done, 1);
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  cluster_sync();
  if (warp == 0) {
    asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(smem(&slot)));
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;");
  }
  before();
  __syncthreads();
  after();
  const uint32_t d = slot;
  for (uint32_t i = 0; i < steps; ++i) {
    if (warp == 0 && elect()) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 24576;" ::"r"(smem(&full)));
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 24576, [%2];" ::"r"(
                       smem(tiles)),
                   "l"(from + i * 24576), "r"(smem(&full))
                   : "memory");
    }
    wait(full, i & 1);
    cluster_sync();
    if (rank == 0 && warp == 0 && elect()) {
      const uint64_t a = describe(tiles), b = describe(tiles + 16384);
      for (int k = 0; k < 4; ++k)
        asm volatile(
            "{ .reg .pred p; setp.ne.u32 p, %3, 0;\n"
            "tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, 0x10200010, p; }" ::"r"(d),
            "l"(a + k * 2), "l"(b + k * 2), "r"(i | k)
            : "memory");
      asm volatile(
          "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
              smem(&done)),
          "h"(uint16_t(3))
          : "memory");
    }
    wait(done, i & 1);
  }
  after();
  uint32_t x[4];
  load4(x, d + (warp << 21));
  to[threadIdx.x + rank * 128] = make_uint4(x[0], x[1], x[2], x[3]);
  before();
  cluster_sync();
  if (warp == 0) asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 128;" ::"r"(d));
}

// Threads write both operands; the product is stored to shared memory and leaves by a bulk copy. What was computed goes
// back into tensor memory and is the A operand of a second product.
extern "C" __global__ void __launch_bounds__(128) staged(const uint4* from, uint8_t* to) {
  __shared__ __align__(1024) uint8_t a_tile[16384];
  __shared__ __align__(1024) uint8_t b_tile[8192];
  __shared__ __align__(128) uint4 out[128];
  __shared__ uint32_t slot;
  __shared__ __align__(8) uint64_t first, second;
  const uint32_t warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    init(first, 1);
    init(second, 1);
  }
  if (warp == 0) asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(smem(&slot)));
  for (int i = threadIdx.x; i < 1024; i += 128) reinterpret_cast<uint4*>(a_tile)[i] = from[i];
  for (int i = threadIdx.x; i < 512; i += 128) reinterpret_cast<uint4*>(b_tile)[i] = from[1024 + i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  before();
  __syncthreads();
  after();
  const uint32_t d = slot, p = d + 64, row = d + (warp << 21);
  const uint64_t a = describe(a_tile), b = describe(b_tile);
  if (warp == 1 && elect()) {
    asm volatile("tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, 0x8100010, 0;" ::"r"(d), "l"(a), "l"(b) : "memory");
    asm volatile("tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, 0x8100010, 1;" ::"r"(d), "l"(a + 2), "l"(b + 2)
                 : "memory");
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(smem(&first))
                 : "memory");
  }
  wait(first, 0);
  after();
  uint32_t x[4];
  load4(x, row);
  asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1, %2, %3, %4};\ntcgen05.wait::st.sync.aligned;" ::"r"(
                   p + (warp << 21)),
               "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
               : "memory");
  before();
  __syncthreads();
  after();
  if (warp == 1 && elect()) {
    asm volatile("tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, 0x8100010, 1;" ::"r"(d), "r"(p), "l"(b) : "memory");
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(smem(&second))
                 : "memory");
  }
  wait(second, 0);
  after();
  load4(x, row + 4);
  out[threadIdx.x] = make_uint4(x[0], x[1], x[2], x[3]);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  before();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 2048;" ::"l"(to), "r"(smem(out)) : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
  if (warp == 0) {
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" ::"r"(d));
  }
}

// Block scales travel from shared to tensor memory, after the accumulator; producer, issuer and readers are warps of
// their own, two stages deep.
extern "C" __global__ void __launch_bounds__(192) scaled(const uint8_t* from, uint4* to, uint32_t steps) {
  struct __align__(1024) Stage {
    uint8_t a[16384], b[16384], scales[1024];
  };
  extern __shared__ __align__(1024) uint8_t dynamic[];
  Stage* stages = reinterpret_cast<Stage*>(dynamic);
  __shared__ uint32_t slot;
  __shared__ __align__(8) uint64_t full[2], empty[2], done;
  const uint32_t warp = threadIdx.x / 32;
  if (warp == 4 && elect()) {
    for (int s = 0; s < 2; ++s) {
      init(full[s], 1);
      init(empty[s], 1);
    }
    init(done, 1);
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  if (warp == 5) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 256;" ::"r"(smem(&slot)));
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  before();
  __syncthreads();
  after();
  const uint32_t d = slot;
  if (warp == 4) {
    if (elect())
      for (uint32_t i = 0; i < steps; ++i) {
        const uint32_t s = i % 2;
        wait(empty[s], (i / 2 & 1) ^ 1);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 33792;" ::"r"(smem(&full[s])));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 33792, [%2];" ::"r"(
                         smem(&stages[s])),
                     "l"(from + i * 33792), "r"(smem(&full[s]))
                     : "memory");
      }
  } else if (warp == 5) {
    if (elect()) {
      for (uint32_t i = 0; i < steps; ++i) {
        const uint32_t s = i % 2;
        wait(full[s], i / 2 & 1);
        after();
        const uint64_t scales = 0x0000400800000000ull | (smem(stages[s].scales) & 0x3FFFF) >> 4;
        asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(d + 128), "l"(scales) : "memory");
        asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(d + 132), "l"(scales + 32) : "memory");
        for (int k = 0; k < 4; ++k)
          asm volatile(
              "{ .reg .pred p; setp.ne.u32 p, %5, 0;\n"
              "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%0], %1, %2, 0x8a00000, [%3], [%4], p; }" ::
                  "r"(d),
              "l"(describe(stages[s].a) + k * 2), "l"(describe(stages[s].b) + k * 2), "r"(d + 128), "r"(d + 132),
              "r"(i | k)
              : "memory");
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(smem(&empty[s]))
                     : "memory");
      }
      asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(smem(&done))
                   : "memory");
    }
  } else {
    wait(done, 0);
    after();
    for (int c = 0; c < 128; c += 4) {
      uint32_t x[4];
      load4(x, d + (warp << 21) + c);
      to[threadIdx.x * 32 + c / 4] = make_uint4(x[0], x[1], x[2], x[3]);
    }
    before();
  }
  __syncthreads();
  if (warp == 5) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 256;" ::"r"(d));
}
