// D[m,n] = A[m,k] * B[n,k]^T in bf16: a persistent GEMM in roles. Warp 4 loads through a ring of four stages, warp 5
// multiplies into one of two accumulators, warps 0 to 3 store the other one. D's rows may have any length.
#include "tcgen05.cuh"

namespace {

using namespace ptx;

constexpr uint32_t tile_m = 128, tile_n = 128, tile_k = 64, stages = 4, accumulators = 2;
constexpr uint32_t tile_bytes = tile_m * tile_k * 2, tmem_columns = accumulators * tile_n;

enum Bug : uint32_t {
  no_bug,
  no_empty_wait,
  empty_parity,
  no_full_wait,
  full_parity,
  expect_too_little,
  expect_too_much,
  stage_off_by_one,
  no_stage_commit,
  stage_commit_before_mma,
  no_tile_commit,
  tile_commit_before_last_block,
  no_accumulated_wait,
  drained_before_ld,
  no_drained_wait,
  drained_count,
  drained_by_no_one,
  dealloc_early,
  no_dealloc,
  idesc_n,
  k_advance,
  init_not_published,
  init_missing,
  descriptor_swizzle,
  accumulators_overlap,
  always_accumulate,
  no_ragged_edge,
  last_bug
};

// A place in a ring of `size` slots and the parity of the round.
template <uint32_t size>
struct Ring {
  uint32_t slot = 0, parity = 0;
  __device__ void next() {
    if (++slot < size) return;
    slot = 0;
    parity ^= 1;
  }
};

struct Problem {
  const TensorMap &a_map, &b_map;
  uint16_t* d;
  uint32_t m, n, k, bug;
  __device__ uint32_t tiles_m() const { return (m + tile_m - 1) / tile_m; }
  __device__ uint32_t tiles() const { return tiles_m() * ((n + tile_n - 1) / tile_n); }
  __device__ uint32_t row(uint32_t tile) const { return tile % tiles_m() * tile_m; }
  __device__ uint32_t column(uint32_t tile) const { return tile / tiles_m() * tile_n; }
  __device__ uint32_t blocks() const { return (k + tile_k - 1) / tile_k; }
};

extern __shared__ __align__(1024) uint8_t tiles[];  // stages of A, then stages of B
__shared__ uint64_t full[stages], empty[stages], accumulated[accumulators], drained[accumulators];
__shared__ uint32_t tmem_slot;

__device__ __forceinline__ uint8_t* a_tile(uint32_t stage) { return tiles + stage * tile_bytes; }
__device__ __forceinline__ uint8_t* b_tile(uint32_t stage) { return a_tile(stages + stage); }

__device__ __forceinline__ void load(const Problem& p) {
  const uint32_t expected = p.bug == expect_too_little ? tile_bytes
                            : p.bug == expect_too_much ? 2 * tile_bytes + 16
                                                       : 2 * tile_bytes;
  Ring<stages> ring;
  for (uint32_t tile = blockIdx.x; tile < p.tiles(); tile += gridDim.x)
    for (uint32_t block = 0; block < p.blocks(); ++block, ring.next()) {
      if (p.bug != no_empty_wait) wait(empty[ring.slot], ring.parity ^ (p.bug == empty_parity ? 0 : 1));
      arrive_expect_tx(full[ring.slot], expected);
      load_tile(a_tile(ring.slot), p.a_map, block * tile_k, p.row(tile), full[ring.slot]);
      load_tile(b_tile(ring.slot), p.b_map, block * tile_k, p.column(tile), full[ring.slot]);
    }
}

__device__ __forceinline__ void multiply_block(const Problem& p, uint32_t d, uint32_t stage, bool first) {
  const uint32_t idesc = idesc_bf16(tile_m, p.bug == idesc_n ? tile_n / 2 : tile_n);
  const Swizzle swizzle = p.bug == descriptor_swizzle ? Swizzle::b64 : Swizzle::b128;
  const uint32_t used = p.bug == stage_off_by_one ? (stage + 1) % stages : stage;
  const uint64_t a = describe(a_tile(used), swizzle), b = describe(b_tile(used), swizzle);
  const uint32_t step = p.bug == k_advance ? 16 : 32;
#pragma unroll
  for (uint32_t i = 0; i < tile_k / 16; ++i)
    mma(d, advance(a, i * step), advance(b, i * step), idesc, !first || i > 0 || p.bug == always_accumulate);
}

__device__ __forceinline__ void multiply(const Problem& p, uint32_t tmem) {
  const uint32_t pitch = p.bug == accumulators_overlap ? tile_n / 2 : tile_n;
  Ring<stages> ring;
  Ring<accumulators> sums;
  for (uint32_t tile = blockIdx.x; tile < p.tiles(); tile += gridDim.x, sums.next()) {
    if (p.bug != no_drained_wait) wait(drained[sums.slot], sums.parity ^ 1);
    fence_after_thread_sync();
    for (uint32_t block = 0; block < p.blocks(); ++block, ring.next()) {
      if (p.bug != no_full_wait) wait(full[ring.slot], ring.parity ^ (p.bug == full_parity ? 1 : 0));
      fence_after_thread_sync();
      if (p.bug == stage_commit_before_mma) commit(empty[ring.slot]);
      if (p.bug == tile_commit_before_last_block && block + 1 == p.blocks()) commit(accumulated[sums.slot]);
      multiply_block(p, tmem + sums.slot * pitch, ring.slot, block == 0);
      if (p.bug != no_stage_commit && p.bug != stage_commit_before_mma) commit(empty[ring.slot]);
    }
    if (p.bug != no_tile_commit && p.bug != tile_commit_before_last_block) commit(accumulated[sums.slot]);
  }
}

// 32 columns of one row, clipped to D.
__device__ __forceinline__ void store_row(const Problem& p, const float (&x)[32], uint32_t row, uint32_t column) {
  if (row >= p.m && p.bug != no_ragged_edge) return;
  uint16_t* to = p.d + uint64_t(row) * p.n + column;
#pragma unroll
  for (uint32_t i = 0; i < 32; i += 8) {
    const uint4 packed = {bf16x2(x[i], x[i + 1]), bf16x2(x[i + 2], x[i + 3]), bf16x2(x[i + 4], x[i + 5]),
                          bf16x2(x[i + 6], x[i + 7])};
    if (p.n % 8 == 0) {
      if (column + i < p.n) *reinterpret_cast<uint4*>(to + i) = packed;
      continue;
    }
    const uint32_t words[] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
    for (uint32_t e = 0; e < 8; ++e)
      if (column + i + e < p.n) to[i + e] = uint16_t(words[e / 2] >> (e % 2 * 16));
  }
}

__device__ __forceinline__ void store(const Problem& p, uint32_t tmem, uint32_t warp) {
  const uint32_t pitch = p.bug == accumulators_overlap ? tile_n / 2 : tile_n;
  Ring<accumulators> sums;
  for (uint32_t tile = blockIdx.x; tile < p.tiles(); tile += gridDim.x, sums.next()) {
    if (p.bug != no_accumulated_wait) wait(accumulated[sums.slot], sums.parity);
    fence_after_thread_sync();
    if (p.bug == drained_before_ld && elect()) arrive(drained[sums.slot]);
    const uint32_t from = quarter(tmem + sums.slot * pitch, warp);
    for (uint32_t column = 0; column < tile_n; column += 32) {
      float x[32];
      ld(x, from + column);
      wait_ld();
      store_row(p, x, p.row(tile) + threadIdx.x, p.column(tile) + column);
    }
    fence_before_thread_sync();
    __syncwarp();
    if (p.bug != drained_before_ld && p.bug != drained_by_no_one && elect()) arrive(drained[sums.slot]);
  }
}

__device__ __forceinline__ void init_barriers(uint32_t bug) {
  for (uint32_t i = 0; i < stages; ++i) {
    init(full[i], 1);
    if (bug != init_missing || i > 0) init(empty[i], 1);
  }
  for (uint32_t i = 0; i < accumulators; ++i) {
    init(accumulated[i], 1);
    init(drained[i], bug == drained_count ? 128 : 4);
  }
  fence_mbarrier_init();
}

}  // namespace

extern "C" __global__ void __launch_bounds__(192)
    gemm_bf16_pipelined(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map, uint16_t* d,
                        uint32_t m, uint32_t n, uint32_t k SEEDED_BUG) {
  const Problem p{a_map, b_map, d, m, n, k, bug};
  const uint32_t warp = threadIdx.x / 32;
  if (warp == 5) alloc<1>(tmem_slot, tmem_columns);
  if (bug == init_not_published) __syncthreads();
  if (warp == 4 && elect()) init_barriers(bug);
  if (bug != init_not_published) {
    fence_before_thread_sync();
    __syncthreads();
    fence_after_thread_sync();
  }
  const uint32_t tmem = tmem_slot;
  if (warp == 4) {
    if (elect()) load(p);
  } else if (warp == 5) {
    if (elect()) multiply(p, tmem);
  } else {
    store(p, tmem, warp);
  }
  fence_before_thread_sync();
  if (bug != dealloc_early) __syncthreads();
  fence_after_thread_sync();
  if (warp == 5 && bug != no_dealloc) {
    __syncwarp();
    dealloc<1>(tmem, tmem_columns);
  }
}
