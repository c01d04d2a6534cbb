// D[m,n] = (A * SFA)[m,k] * (B * SFB)[n,k]^T: block-scaled GEMMs, one of e4m3 with a UE8M0 scale for 32 elements and
// one of e2m1 with a UE4M3 scale for 16. Scales lie in global memory as chunks of 512 bytes, 128 rows by 4 scales, and
// go by bulk copy to shared memory and by tcgen05.cp to tensor memory, where each stage of the ring has columns of its
// own.
#include "tcgen05.cuh"

namespace {

using namespace ptx;

constexpr uint32_t tile_m = 128, tile_n = 128, tile_k_bytes = 128, steps = 4, stages = 3;
constexpr uint32_t tile_bytes = tile_m * tile_k_bytes, chunk_bytes = 512, chunk_columns = 4;
constexpr uint32_t tmem_columns = 256;

enum Bug : uint32_t {
  no_bug,
  no_cp_of_a,
  no_cp_of_b,
  cp_before_full_wait,
  cp_after_mma,
  cp_stride,
  expect_without_scales,
  wrong_scales_of_step,
  scales_swapped,
  scales_overlap_d,
  scales_of_next_block,
  scales_of_next_stage,
  idesc_scale_type,
  idesc_type,
  no_empty_wait,
  no_full_wait,
  full_parity,
  commit_before_mma,
  no_done_commit,
  done_commit_early,
  no_done_wait,
  alloc_too_small,
  dealloc_early,
  no_dealloc,
  k_advance,
  last_bug
};

// e4m3: the four scales of a chunk are those of the four steps.
struct Mxf8 {
  static constexpr uint32_t chunks = 1, type = type_e4m3, scale = scale_ue8m0;
  __device__ static uint32_t id(uint32_t step) { return step; }
  __device__ static uint32_t column(uint32_t) { return 0; }
  __device__ static void mma(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, uint32_t sfa, uint32_t sfb, bool add) {
    mma_mxf8(d, a, b, idesc, sfa, sfb, add);
  }
};
// e2m1: a step has a chunk of its own.
struct Nvf4 {
  static constexpr uint32_t chunks = 4, type = type_e2m1, scale = scale_ue4m3;
  __device__ static uint32_t id(uint32_t) { return 0; }
  __device__ static uint32_t column(uint32_t step) { return step * chunk_columns; }
  __device__ static void mma(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, uint32_t sfa, uint32_t sfb, bool add) {
    mma_nvf4(d, a, b, idesc, sfa, sfb, add);
  }
};

struct Problem {
  const TensorMap &a_map, &b_map;
  const uint8_t *sfa, *sfb;
  float* d;
  uint32_t m, n, blocks, bug;
};

extern __shared__ __align__(1024) uint8_t tiles[];  // stages of A and B, then of their scales
__shared__ uint64_t full[stages], empty[stages], done;
__shared__ uint32_t tmem_slot;

template <class Kind>
struct Stage {
  static constexpr uint32_t scale_bytes = Kind::chunks * chunk_bytes, scale_columns = Kind::chunks * chunk_columns;
  static constexpr uint32_t bytes = 2 * tile_bytes + 2 * scale_bytes;
  uint32_t index;
  __device__ uint8_t* a() const { return tiles + index * 2 * tile_bytes; }
  __device__ uint8_t* b() const { return a() + tile_bytes; }
  __device__ uint8_t* sfa() const { return tiles + stages * 2 * tile_bytes + index * 2 * scale_bytes; }
  __device__ uint8_t* sfb() const { return sfa() + scale_bytes; }
  // Columns after D.
  __device__ uint32_t sfa_column(uint32_t bug) const {
    return (bug == scales_overlap_d ? tile_n - 4 : tile_n) + index * 2 * scale_columns;
  }
  __device__ uint32_t sfb_column(uint32_t bug) const { return sfa_column(bug) + scale_columns; }
};

template <class Kind>
__device__ __forceinline__ void load(const Problem& p) {
  using S = Stage<Kind>;
  constexpr uint32_t elements = 2 * tile_bytes;
  for (uint32_t block = 0; block < p.blocks; ++block) {
    const S stage{block % stages};
    uint64_t& bar = full[stage.index];
    if (p.bug != no_empty_wait) wait(empty[stage.index], block / stages & 1 ^ 1);
    arrive_expect_tx(bar, p.bug == expect_without_scales ? elements : S::bytes);
    load_tile(stage.a(), p.a_map, block * tile_k_bytes, blockIdx.x * tile_m, bar);
    load_tile(stage.b(), p.b_map, block * tile_k_bytes, blockIdx.y * tile_n, bar);
    const uint32_t from = p.bug == scales_of_next_block ? (block + 1) % p.blocks : block;
    load_bulk(stage.sfa(), p.sfa + uint64_t(blockIdx.x * p.blocks + from) * S::scale_bytes, S::scale_bytes, bar);
    load_bulk(stage.sfb(), p.sfb + uint64_t(blockIdx.y * p.blocks + from) * S::scale_bytes, S::scale_bytes, bar);
  }
}

template <class Kind>
__device__ __forceinline__ void copy_scales(const Problem& p, const Stage<Kind>& stage, uint32_t tmem) {
  const uint32_t stride = p.bug == cp_stride ? 256 : 128;
  const Stage<Kind> from{p.bug == scales_of_next_stage ? (stage.index + 1) % stages : stage.index};
#pragma unroll
  for (uint32_t i = 0; i < Kind::chunks; ++i) {
    const uint64_t a = describe(from.sfa() + i * chunk_bytes, Swizzle::none, stride);
    const uint64_t b = describe(from.sfb() + i * chunk_bytes, Swizzle::none, stride);
    if (p.bug != no_cp_of_a) cp_32x128b(tmem + stage.sfa_column(p.bug) + i * chunk_columns, a);
    if (p.bug != no_cp_of_b) cp_32x128b(tmem + stage.sfb_column(p.bug) + i * chunk_columns, b);
  }
}

template <class Kind>
__device__ __forceinline__ void multiply_block(const Problem& p, const Stage<Kind>& stage, uint32_t tmem, bool first) {
  const uint64_t a = describe(stage.a()), b = describe(stage.b());
  uint32_t sfa = tmem + stage.sfa_column(p.bug), sfb = tmem + stage.sfb_column(p.bug);
  if (p.bug == scales_swapped) {
    const uint32_t other = sfa;
    sfa = sfb;
    sfb = other;
  }
  const uint32_t type = p.bug == idesc_type ? Kind::type + 1 : Kind::type;
  const uint32_t scale = p.bug == idesc_scale_type ? 1 - Kind::scale : Kind::scale;
  const uint32_t pitch = p.bug == k_advance ? 16 : 32;
#pragma unroll
  for (uint32_t i = 0; i < steps; ++i) {
    const uint32_t of = p.bug == wrong_scales_of_step ? 0 : i;
    Kind::mma(tmem, advance(a, i * pitch), advance(b, i * pitch),
              idesc_scaled(tile_m, tile_n, type, scale, Kind::id(of)), sfa + Kind::column(of), sfb + Kind::column(of),
              !first || i > 0);
  }
}

template <class Kind>
__device__ __forceinline__ void multiply(const Problem& p, uint32_t tmem) {
  for (uint32_t block = 0; block < p.blocks; ++block) {
    const Stage<Kind> stage{block % stages};
    if (p.bug == cp_before_full_wait) copy_scales(p, stage, tmem);
    if (p.bug != no_full_wait) wait(full[stage.index], block / stages & 1 ^ (p.bug == full_parity ? 1 : 0));
    fence_after_thread_sync();
    if (p.bug != cp_before_full_wait && p.bug != cp_after_mma) copy_scales(p, stage, tmem);
    if (p.bug == commit_before_mma) commit(empty[stage.index]);
    if (p.bug == done_commit_early && block + 1 == p.blocks) commit(done);
    multiply_block(p, stage, tmem, block == 0);
    if (p.bug == cp_after_mma) copy_scales(p, stage, tmem);
    if (p.bug != commit_before_mma) commit(empty[stage.index]);
  }
  if (p.bug != no_done_commit && p.bug != done_commit_early) commit(done);
}

__device__ __forceinline__ void store(const Problem& p, uint32_t tmem, uint32_t warp) {
  if (p.bug != no_done_wait) wait(done, 0);
  fence_after_thread_sync();
  const uint32_t row = blockIdx.x * tile_m + threadIdx.x, first = blockIdx.y * tile_n;
  for (uint32_t column = 0; column < tile_n; column += 32) {
    float x[32];
    ld(x, quarter(tmem, warp) + column);
    wait_ld();
    if (row >= p.m) continue;
    float* to = p.d + uint64_t(row) * p.n + first + column;
#pragma unroll
    for (uint32_t i = 0; i < 32; i += 4)
      if (first + column + i < p.n) *reinterpret_cast<float4*>(to + i) = {x[i], x[i + 1], x[i + 2], x[i + 3]};
  }
}

__device__ __forceinline__ void init_barriers() {
  for (uint32_t i = 0; i < stages; ++i) {
    init(full[i], 1);
    init(empty[i], 1);
  }
  init(done, 1);
  fence_mbarrier_init();
}

template <class Kind>
__device__ __forceinline__ void gemm(const Problem& p) {
  const uint32_t warp = threadIdx.x / 32, columns = p.bug == alloc_too_small ? tile_n : tmem_columns;
  if (warp == 5) alloc<1>(tmem_slot, columns);
  if (warp == 4 && elect()) init_barriers();
  fence_before_thread_sync();
  __syncthreads();
  fence_after_thread_sync();
  const uint32_t tmem = tmem_slot;
  if (warp == 4) {
    if (elect()) load<Kind>(p);
  } else if (warp == 5) {
    if (elect()) multiply<Kind>(p, tmem);
  } else {
    store(p, tmem, warp);
  }
  fence_before_thread_sync();
  if (p.bug != dealloc_early) __syncthreads();
  fence_after_thread_sync();
  if (warp == 5 && p.bug != no_dealloc) {
    __syncwarp();
    dealloc<1>(tmem, columns);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(192)
    gemm_mxf8(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map, const uint8_t* sfa,
              const uint8_t* sfb, float* d, uint32_t m, uint32_t n, uint32_t blocks SEEDED_BUG) {
  gemm<Mxf8>({a_map, b_map, sfa, sfb, d, m, n, blocks, bug});
}

extern "C" __global__ void __launch_bounds__(192)
    gemm_nvf4(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map, const uint8_t* sfa,
              const uint8_t* sfb, float* d, uint32_t m, uint32_t n, uint32_t blocks SEEDED_BUG) {
  gemm<Nvf4>({a_map, b_map, sfa, sfb, d, m, n, blocks, bug});
}
