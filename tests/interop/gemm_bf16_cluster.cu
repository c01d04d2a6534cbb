// D[m,n] = A[m,k] * B[n,k]^T in bf16 by pairs of CTAs: each loads its half of A and of B, the even one multiplies
// 256 x 128 with cta_group::2, each stores its 128 rows by TMA through shared memory that the stages have left.
#include "tcgen05.cuh"

namespace {

using namespace ptx;

constexpr uint32_t tile_m = 256, tile_n = 128, tile_k = 64, stages = 4;
constexpr uint32_t a_bytes = tile_m / 2 * tile_k * 2, b_bytes = tile_n / 2 * tile_k * 2;
constexpr uint32_t stage_bytes = a_bytes + b_bytes, out_bytes = 32 * tile_n * 2;
constexpr uint32_t tmem_columns = tile_n;
constexpr uint16_t both_ctas = 3;

enum Bug : uint32_t {
  no_bug,
  no_init_fence,
  no_cluster_sync_at_start,
  no_cluster_sync_at_exit,
  own_full_barrier,
  expect_own_half,
  expect_in_both,
  commit_leader_only,
  commit_peer_only,
  done_leader_only,
  no_done_wait,
  no_empty_wait,
  peer_no_empty_wait,
  no_full_wait,
  commit_before_mma,
  no_fence_proxy_async,
  elected_store_without_syncwarp,
  no_wait_group_read,
  stage_out_overlaps,
  idesc_m,
  same_half_of_b,
  leader_deallocs,
  alloc_before_cluster_sync,
  both_multiply,
  done_commit_early,
  last_bug
};

struct Work {
  const TensorMap &a_map, &b_map, &d_map;
  uint32_t blocks, rank, bug;
  __device__ uint32_t row() const { return blockIdx.x / 2 * tile_m + rank * (tile_m / 2); }
  __device__ uint32_t column() const { return blockIdx.y * tile_n; }
};

extern __shared__ __align__(1024) uint8_t tiles[];
__shared__ uint64_t full[stages], empty[stages], done;
__shared__ uint32_t tmem_slot;

__device__ __forceinline__ uint8_t* a_tile(uint32_t stage) { return tiles + stage * stage_bytes; }
__device__ __forceinline__ uint8_t* b_tile(uint32_t stage) { return a_tile(stage) + a_bytes; }

// Runs in both CTAs. What both load counts on the leader's barrier, which expects it all.
__device__ __forceinline__ void load(const Work& w) {
  const uint32_t expected = w.bug == expect_own_half ? stage_bytes : 2 * stage_bytes;
  const uint32_t b_row = w.column() + (w.bug == same_half_of_b ? 0 : w.rank * (tile_n / 2));
  for (uint32_t block = 0; block < w.blocks; ++block) {
    const uint32_t stage = block % stages;
    const bool waits = w.bug != no_empty_wait && !(w.bug == peer_no_empty_wait && w.rank == 1);
    if (waits) wait(empty[stage], block / stages & 1 ^ 1);
    if (w.rank == 0 || w.bug == expect_in_both || w.bug == own_full_barrier) arrive_expect_tx(full[stage], expected);
    const uint32_t bar = w.bug == own_full_barrier ? shared(&full[stage]) : in_leader(full[stage]);
    load_tile_pair(a_tile(stage), w.a_map, block * tile_k, w.row(), bar);
    load_tile_pair(b_tile(stage), w.b_map, block * tile_k, b_row, bar);
  }
}

// Runs in the leader.
__device__ __forceinline__ void multiply(const Work& w, uint32_t tmem) {
  const uint32_t idesc = idesc_bf16(w.bug == idesc_m ? tile_m / 2 : tile_m, tile_n);
  const uint16_t stage_mask = w.bug == commit_leader_only ? 1 : w.bug == commit_peer_only ? 2 : both_ctas;
  for (uint32_t block = 0; block < w.blocks; ++block) {
    const uint32_t stage = block % stages;
    if (w.bug != no_full_wait) wait(full[stage], block / stages & 1);
    fence_after_thread_sync();
    if (w.bug == commit_before_mma) commit_pair(empty[stage], both_ctas);
    if (w.bug == done_commit_early && block + 1 == w.blocks) commit_pair(done, both_ctas);
    const uint64_t a = describe(a_tile(stage)), b = describe(b_tile(stage));
#pragma unroll
    for (uint32_t i = 0; i < tile_k / 16; ++i)
      mma_pair(tmem, advance(a, i * 32), advance(b, i * 32), idesc, block > 0 || i > 0);
    if (w.bug != commit_before_mma) commit_pair(empty[stage], stage_mask);
  }
  if (w.bug != done_commit_early) commit_pair(done, w.bug == done_leader_only ? 1 : both_ctas);
}

// 32 columns of the thread's row, as the 128-byte swizzle of the box has them.
__device__ __forceinline__ void stage_row(uint8_t* box, const float (&x)[32], uint32_t column) {
  const uint32_t lane = threadIdx.x % 32;
  uint8_t* row = box + lane * 128;
#pragma unroll
  for (uint32_t i = 0; i < 32; i += 8) {
    const uint4 packed = {bf16x2(x[i], x[i + 1]), bf16x2(x[i + 2], x[i + 3]), bf16x2(x[i + 4], x[i + 5]),
                          bf16x2(x[i + 6], x[i + 7])};
    const uint32_t chunk = (column % 64 + i) / 8;
    *reinterpret_cast<uint4*>(row + (chunk ^ lane % 8) * 16) = packed;
  }
}

__device__ __forceinline__ void store(const Work& w, uint32_t tmem, uint32_t warp) {
  if (!(w.bug == no_done_wait && w.rank == 1)) wait(done, 0);
  fence_after_thread_sync();
  uint8_t* out = tiles + (w.bug == stage_out_overlaps ? warp * (out_bytes / 2) : warp * out_bytes);
  for (uint32_t column = 0; column < tile_n; column += 32) {
    float x[32];
    ld(x, quarter(tmem, warp) + column);
    wait_ld();
    stage_row(out + column / 64 * (out_bytes / 2), x, column);
  }
  if (w.bug != no_fence_proxy_async) fence_proxy_async();
  if (w.bug != elected_store_without_syncwarp) __syncwarp();
  if (elect()) {
    for (uint32_t half = 0; half < 2; ++half)
      store_tile(w.d_map, w.column() + half * 64, w.row() + warp * 32, out + half * (out_bytes / 2));
    commit_group();
    if (w.bug != no_wait_group_read) wait_group_read();
  }
  __syncwarp();
}

__device__ __forceinline__ void init_barriers(uint32_t bug) {
  for (uint32_t i = 0; i < stages; ++i) {
    init(full[i], 1);
    init(empty[i], 1);
  }
  init(done, 1);
  if (bug != no_init_fence) fence_mbarrier_init();
}

// Both CTAs have started and see each other's barriers; only then may they allocate together.
__device__ __forceinline__ void start(uint32_t bug, uint32_t warp) {
  if (bug == alloc_before_cluster_sync && warp == 5) alloc<2>(tmem_slot, tmem_columns);
  if (warp == 4 && elect()) init_barriers(bug);
  __syncwarp();
  if (bug != no_cluster_sync_at_start) {
    cluster_arrive_relaxed();
    cluster_wait();
  }
  if (bug != alloc_before_cluster_sync && warp == 5) alloc<2>(tmem_slot, tmem_columns);
  fence_before_thread_sync();
  __syncthreads();
  fence_after_thread_sync();
}

// Neither CTA leaves or gives columns back while the other may still use them.
__device__ __forceinline__ void finish(const Work& w, uint32_t tmem, uint32_t warp) {
  fence_before_thread_sync();
  __syncwarp();
  if (w.bug == no_cluster_sync_at_exit) {
    __syncthreads();
  } else {
    cluster_arrive();
    cluster_wait();
  }
  fence_after_thread_sync();
  if (warp == 5 && !(w.bug == leader_deallocs && w.rank == 1)) dealloc<2>(tmem, tmem_columns);
}

}  // namespace

extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(192)
    gemm_bf16_cluster(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                      const __grid_constant__ TensorMap d_map, uint32_t blocks SEEDED_BUG) {
  const Work w{a_map, b_map, d_map, blocks, cluster_ctarank(), bug};
  const uint32_t warp = threadIdx.x / 32;
  start(bug, warp);
  const uint32_t tmem = tmem_slot;
  if (warp == 4) {
    if (elect()) load(w);
  } else if (warp == 5) {
    if ((w.rank == 0 || bug == both_multiply) && elect()) multiply(w, tmem);
  } else {
    store(w, tmem, warp);
  }
  finish(w, tmem, warp);
}
