// Wrappers around the PTX that the kernels of this folder are made of: one instruction each, in the ISA's words. They
// are what an engineer writes by hand, so that the simulator meets what compilers make of such code.
#pragma once

#include <cstdint>

// Mistakes are chosen by a number: none; the constant -DBUG=n; or, with -DBUG_PARAMETER, the kernel's last parameter,
// so that one PTX file holds them all. A kernel names its own in `enum Bug`.
#ifndef BUG
#define BUG 0
#endif
#ifdef BUG_PARAMETER
#define SEEDED_BUG , const uint32_t bug
#else
#define SEEDED_BUG
namespace {
constexpr uint32_t bug = BUG;
}
#endif

namespace ptx {

// What cuTensorMapEncodeTiled fills in.
struct alignas(64) TensorMap {
  uint8_t opaque[128];
};

__device__ __forceinline__ uint32_t shared(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

// Threads and warps

__device__ __forceinline__ bool elect() {
  uint32_t chosen;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.b32 %0, 1, 0, p;\n}" : "=r"(chosen));
  return chosen != 0;
}
__device__ __forceinline__ uint32_t cluster_ctarank() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;"); }
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// mbarriers

__device__ __forceinline__ void init(uint64_t& bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(&bar)), "r"(count) : "memory");
}
__device__ __forceinline__ void arrive(uint64_t& bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared(&bar)) : "memory");
}
__device__ __forceinline__ void arrive_expect_tx(uint64_t& bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(&bar)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait(uint64_t& bar, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\n"
      "AGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra DONE;\nbra AGAIN;\nDONE:\n}" ::"r"(shared(&bar)),
      "r"(parity)
      : "memory");
}

// Bulk copies

__device__ __forceinline__ void load_bulk(const void* to, const void* from, uint32_t bytes, uint64_t& bar) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared(to)),
      "l"(from), "r"(bytes), "r"(shared(&bar))
      : "memory");
}
__device__ __forceinline__ void load_tile(const void* to, const TensorMap& map, uint32_t x, uint32_t y, uint64_t& bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(shared(to)),
      "l"(&map), "r"(x), "r"(y), "r"(shared(&bar))
      : "memory");
}
// The load of one CTA of a pair, counted on a barrier of either; `bar` is a shared::cluster address.
__device__ __forceinline__ void load_tile_pair(const void* to, const TensorMap& map, uint32_t x, uint32_t y,
                                               uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3}], [%4];" ::"r"(shared(to)),
      "l"(&map), "r"(x), "r"(y), "r"(bar)
      : "memory");
}
// The same barrier in the even CTA of the pair: bit 24 of a shared::cluster address is the rank's last bit.
__device__ __forceinline__ uint32_t in_leader(const uint64_t& bar) { return shared(&bar) & 0xFEFFFFFF; }

__device__ __forceinline__ void store_tile(const TensorMap& map, uint32_t x, uint32_t y, const void* from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x),
               "r"(y), "r"(shared(from))
               : "memory");
}
__device__ __forceinline__ void commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ __forceinline__ void wait_group_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

// Tensor memory

template <int pair>
__device__ __forceinline__ void alloc(uint32_t& slot, uint32_t columns) {
  if constexpr (pair == 2) {
    asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared(&slot)), "r"(columns)
                 : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;");
  } else {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared(&slot)), "r"(columns)
                 : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
}
template <int pair>
__device__ __forceinline__ void dealloc(uint32_t tmem, uint32_t columns) {
  if constexpr (pair == 2)
    asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(tmem), "r"(columns));
  else
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(tmem), "r"(columns));
}
// The lanes that a warp reaches: the quarter of its number.
__device__ __forceinline__ uint32_t quarter(uint32_t tmem, uint32_t warp) { return tmem + (warp % 4 << 21); }

__device__ __forceinline__ void fence_before_thread_sync() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
__device__ __forceinline__ void fence_after_thread_sync() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}
__device__ __forceinline__ void wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wait_st() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }

// 32 columns of the warp's quarter, a row to a thread.
__device__ __forceinline__ void ld(float (&x)[32], uint32_t from) {
  asm volatile(
      "tcgen05.ld.sync.aligned.32x32b.x32.b32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];"
      : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3]), "=f"(x[4]), "=f"(x[5]), "=f"(x[6]), "=f"(x[7]), "=f"(x[8]),
        "=f"(x[9]), "=f"(x[10]), "=f"(x[11]), "=f"(x[12]), "=f"(x[13]), "=f"(x[14]), "=f"(x[15]), "=f"(x[16]),
        "=f"(x[17]), "=f"(x[18]), "=f"(x[19]), "=f"(x[20]), "=f"(x[21]), "=f"(x[22]), "=f"(x[23]), "=f"(x[24]),
        "=f"(x[25]), "=f"(x[26]), "=f"(x[27]), "=f"(x[28]), "=f"(x[29]), "=f"(x[30]), "=f"(x[31])
      : "r"(from)
      : "memory");
}
__device__ __forceinline__ void st(uint32_t to, const float (&x)[32]) {
  asm volatile(
      "tcgen05.st.sync.aligned.32x32b.x32.b32 [%0], "
      "{%1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, "
      "%17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32};" ::"r"(to),
      "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]), "f"(x[4]), "f"(x[5]), "f"(x[6]), "f"(x[7]), "f"(x[8]), "f"(x[9]),
      "f"(x[10]), "f"(x[11]), "f"(x[12]), "f"(x[13]), "f"(x[14]), "f"(x[15]), "f"(x[16]), "f"(x[17]), "f"(x[18]),
      "f"(x[19]), "f"(x[20]), "f"(x[21]), "f"(x[22]), "f"(x[23]), "f"(x[24]), "f"(x[25]), "f"(x[26]), "f"(x[27]),
      "f"(x[28]), "f"(x[29]), "f"(x[30]), "f"(x[31])
      : "memory");
}
__device__ __forceinline__ void st(uint32_t to, const uint32_t (&x)[16]) {
  asm volatile(
      "tcgen05.st.sync.aligned.32x32b.x16.b32 [%0], "
      "{%1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16};" ::"r"(to),
      "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7]), "r"(x[8]), "r"(x[9]),
      "r"(x[10]), "r"(x[11]), "r"(x[12]), "r"(x[13]), "r"(x[14]), "r"(x[15])
      : "memory");
}

// Matrices in shared memory

enum class Swizzle : uint64_t { none = 0, b128 = 2, b64 = 4, b32 = 6 };

// `stride` is the bytes from eight rows to the next eight.
__device__ __forceinline__ uint64_t describe(const void* tile, Swizzle swizzle = Swizzle::b128,
                                             uint32_t stride = 1024) {
  const uint64_t fixed = uint64_t(swizzle) << 61 | uint64_t(1) << 46 | uint64_t(1) << 16;
  return fixed | uint64_t(stride >> 4) << 32 | (shared(tile) & 0x3FFFF) >> 4;
}
// The descriptor of the bytes `bytes` further on.
__device__ __forceinline__ uint64_t advance(uint64_t descriptor, uint32_t bytes) { return descriptor + (bytes >> 4); }

// kind::f16 with bf16 operands and f32 sums; `transpose_b`: N-major B.
__device__ constexpr uint32_t idesc_bf16(uint32_t m, uint32_t n, bool transpose_b = false) {
  return 1u << 4 | 1u << 7 | 1u << 10 | uint32_t(transpose_b) << 16 | n >> 3 << 17 | m >> 4 << 24;
}

// Block-scaled kinds: what both operands are, what their scales are, and which byte of a scale's word is the first.
constexpr uint32_t type_e4m3 = 0, type_e2m1 = 1;  // the latter in kind::mxf4nvf4
constexpr uint32_t scale_ue4m3 = 0, scale_ue8m0 = 1;
__device__ constexpr uint32_t idesc_scaled(uint32_t m, uint32_t n, uint32_t type, uint32_t scale, uint32_t id) {
  return id << 4 | type << 7 | type << 10 | n >> 3 << 17 | scale << 23 | m >> 7 << 27 | id << 29;
}

__device__ __forceinline__ void mma(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.u32 p, %4, 0;\n"
      "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n}" ::"r"(d),
      "l"(a), "l"(b), "r"(idesc), "r"(uint32_t(accumulate))
      : "memory");
}
__device__ __forceinline__ void mma_pair(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.u32 p, %4, 0;\n"
      "tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p;\n}" ::"r"(d),
      "l"(a), "l"(b), "r"(idesc), "r"(uint32_t(accumulate))
      : "memory");
}
// A lies in tensor memory.
__device__ __forceinline__ void mma_ts(uint32_t d, uint32_t a, uint64_t b, uint32_t idesc, bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.u32 p, %4, 0;\n"
      "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p;\n}" ::"r"(d),
      "r"(a), "l"(b), "r"(idesc), "r"(uint32_t(accumulate))
      : "memory");
}
__device__ __forceinline__ void mma_mxf8(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, uint32_t sfa, uint32_t sfb,
                                         bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.u32 p, %6, 0;\n"
      "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%0], %1, %2, %3, [%4], [%5], p;\n}" ::"r"(d),
      "l"(a), "l"(b), "r"(idesc), "r"(sfa), "r"(sfb), "r"(uint32_t(accumulate))
      : "memory");
}
__device__ __forceinline__ void mma_nvf4(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, uint32_t sfa, uint32_t sfb,
                                         bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.u32 p, %6, 0;\n"
      "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%0], %1, %2, %3, [%4], [%5], p;\n}" ::"r"(d),
      "l"(a), "l"(b), "r"(idesc), "r"(sfa), "r"(sfb), "r"(uint32_t(accumulate))
      : "memory");
}
// 32 rows of 16 bytes to four columns, once for each quarter of the lanes.
__device__ __forceinline__ void cp_32x128b(uint32_t to, uint64_t from) {
  asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void commit(uint64_t& bar) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared(&bar))
               : "memory");
}
__device__ __forceinline__ void commit_pair(uint64_t& bar, uint16_t ctas) {
  asm volatile(
      "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
          shared(&bar)),
      "h"(ctas)
      : "memory");
}

// Numbers

// Two bf16 in a word, `low` in the low half.
__device__ __forceinline__ uint32_t bf16x2(float low, float high) {
  uint32_t word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}
__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace ptx
