// O = softmax(Q * K^T) * V in one pass over blocks of 64 keys: S = Q * K^T comes out of one tcgen05.mma, four warps
// turn it into P (a row to a thread), put P back into tensor memory as bf16 and scale what O has so far, and a second
// MMA adds P * V. Two S take turns, so that the next product runs while the warps work.
#include "tcgen05.cuh"

namespace {

using namespace ptx;

constexpr uint32_t rows = 128, block_keys = 64, depth = 64, stages = 2;
constexpr uint32_t q_bytes = rows * depth * 2, kv_bytes = block_keys * depth * 2;
constexpr uint32_t s_column = 0, o_column = 2 * block_keys, p_column = o_column + depth, tmem_columns = 256;

enum Bug : uint32_t {
  no_bug,
  no_wait_st,
  no_wait_ld_before_s_release,
  no_scores_wait,
  scores_parity,
  no_output_wait,
  no_weights_wait,
  weights_count,
  weights_before_st,
  no_scores_commit,
  scores_commit_before_mma,
  no_output_commit,
  output_commit_before_mma,
  k_commit_before_mma,
  v_commit_before_mma,
  no_q_wait,
  no_k_wait,
  no_v_wait,
  no_k_empty_wait,
  expect_half_of_q,
  p_over_o,
  p_over_next_s,
  one_s,
  no_rescale,
  no_last_output_wait,
  v_k_major,
  v_advance,
  p_advance,
  idesc_n,
  dealloc_early,
  no_dealloc,
  init_not_published,
  last_bug
};

struct Problem {
  const TensorMap &q_map, &k_map, &v_map;
  float* o;
  uint32_t queries, keys;
  float scale;  // of scores, log2(e) included
  uint32_t bug;
  __device__ uint32_t blocks() const { return (keys + block_keys - 1) / block_keys; }
};

extern __shared__ __align__(1024) uint8_t tiles[];  // Q, stages of K, stages of V
__shared__ uint64_t q_full, k_full[stages], k_empty[stages], v_full[stages], v_empty[stages];
__shared__ uint64_t scores[2], weights, output;  // S has come, P is there, P * V was added
__shared__ uint32_t tmem_slot;

__device__ __forceinline__ uint8_t* k_tile(uint32_t stage) { return tiles + q_bytes + stage * kv_bytes; }
__device__ __forceinline__ uint8_t* v_tile(uint32_t stage) { return k_tile(stages + stage); }

__device__ __forceinline__ uint32_t weights_column(uint32_t bug, uint32_t block) {
  if (bug == p_over_o) return o_column + depth / 2;
  return bug == p_over_next_s ? s_column + (block + 1) % 2 * block_keys : p_column;
}

__device__ __forceinline__ void load(const Problem& p) {
  arrive_expect_tx(q_full, p.bug == expect_half_of_q ? q_bytes / 2 : q_bytes);
  load_tile(tiles, p.q_map, 0, blockIdx.x * rows, q_full);
  for (uint32_t block = 0; block < p.blocks(); ++block) {
    const uint32_t stage = block % stages, parity = block / stages & 1;
    if (p.bug != no_k_empty_wait) wait(k_empty[stage], parity ^ 1);
    arrive_expect_tx(k_full[stage], kv_bytes);
    load_tile(k_tile(stage), p.k_map, 0, block * block_keys, k_full[stage]);
    wait(v_empty[stage], parity ^ 1);
    arrive_expect_tx(v_full[stage], kv_bytes);
    load_tile(v_tile(stage), p.v_map, 0, block * block_keys, v_full[stage]);
  }
}

__device__ __forceinline__ void multiply_scores(const Problem& p, uint32_t tmem, uint32_t block) {
  const uint32_t stage = block % stages, turn = p.bug == one_s ? 0 : block % 2;
  if (p.bug != no_k_wait) wait(k_full[stage], block / stages & 1);
  fence_after_thread_sync();
  if (p.bug == k_commit_before_mma) commit(k_empty[stage]);
  if (p.bug == scores_commit_before_mma) commit(scores[block % 2]);
  const uint64_t q = describe(tiles), k = describe(k_tile(stage));
  const uint32_t idesc = idesc_bf16(rows, p.bug == idesc_n ? block_keys / 2 : block_keys);
#pragma unroll
  for (uint32_t i = 0; i < depth / 16; ++i)
    mma(tmem + s_column + turn * block_keys, advance(q, i * 32), advance(k, i * 32), idesc, i > 0);
  if (p.bug != k_commit_before_mma) commit(k_empty[stage]);
  if (p.bug != scores_commit_before_mma && p.bug != no_scores_commit) commit(scores[block % 2]);
}

// V's rows are keys, which P * V sums over: B is N-major, and 16 keys are 16 rows of 128 bytes.
__device__ __forceinline__ void multiply_output(const Problem& p, uint32_t tmem, uint32_t block) {
  const uint32_t stage = block % stages, from = tmem + weights_column(p.bug, block);
  if (p.bug != no_weights_wait) wait(weights, block & 1);
  if (p.bug != no_v_wait) wait(v_full[stage], block / stages & 1);
  fence_after_thread_sync();
  if (p.bug == v_commit_before_mma) commit(v_empty[stage]);
  if (p.bug == output_commit_before_mma) commit(output);
  const uint64_t v = describe(v_tile(stage));
  const uint32_t idesc = idesc_bf16(rows, depth, p.bug != v_k_major);
#pragma unroll
  for (uint32_t i = 0; i < block_keys / 16; ++i)
    mma_ts(tmem + o_column, from + i * (p.bug == p_advance ? 4 : 8),
           advance(v, i * (p.bug == v_advance ? 32 : 16 * 128)), idesc, block > 0 || i > 0);
  if (p.bug != v_commit_before_mma) commit(v_empty[stage]);
  if (p.bug != output_commit_before_mma && p.bug != no_output_commit) commit(output);
}

__device__ __forceinline__ void multiply(const Problem& p, uint32_t tmem) {
  if (p.bug != no_q_wait) wait(q_full, 0);
  multiply_scores(p, tmem, 0);
  for (uint32_t block = 0; block < p.blocks(); ++block) {
    if (block + 1 < p.blocks()) multiply_scores(p, tmem, block + 1);
    multiply_output(p, tmem, block);
  }
}

// One row of the softmax as it goes along.
struct Row {
  float most = -1e30f, sum = 0;
};

// Scores to weights, relative to the greatest so far; returns what earlier weights must be multiplied by.
__device__ __forceinline__ float weigh(const Problem& p, Row& row, float (&x)[2][32], uint32_t first_key) {
  float most = row.most;
#pragma unroll
  for (uint32_t i = 0; i < block_keys; ++i) {
    x[i / 32][i % 32] = first_key + i < p.keys ? x[i / 32][i % 32] * p.scale : -1e30f;
    most = fmaxf(most, x[i / 32][i % 32]);
  }
  float sum = 0;
#pragma unroll
  for (uint32_t i = 0; i < block_keys; ++i) {
    x[i / 32][i % 32] = exp2_approx(x[i / 32][i % 32] - most);
    sum += x[i / 32][i % 32];
  }
  const float factor = exp2_approx(row.most - most);
  row.most = most;
  row.sum = row.sum * factor + sum;
  return factor;
}

__device__ __forceinline__ void rescale(uint32_t o, float factor) {
  for (uint32_t column = 0; column < depth; column += 32) {
    float x[32];
    ld(x, o + column);
    wait_ld();
#pragma unroll
    for (float& value : x) value *= factor;
    st(o + column, x);
  }
}

__device__ __forceinline__ void put_weights(uint32_t to, const float (&x)[2][32]) {
#pragma unroll
  for (uint32_t half = 0; half < 2; ++half) {
    uint32_t words[16];
#pragma unroll
    for (uint32_t i = 0; i < 16; ++i) words[i] = bf16x2(x[half][2 * i], x[half][2 * i + 1]);
    st(to + half * 16, words);
  }
}

__device__ __forceinline__ void soften_block(const Problem& p, Row& row, uint32_t mine, uint32_t block) {
  const uint32_t turn = p.bug == one_s ? 0 : block % 2;
  if (p.bug != no_scores_wait) wait(scores[block % 2], block / 2 & 1 ^ (p.bug == scores_parity ? 1 : 0));
  fence_after_thread_sync();
  float x[2][32];
  ld(x[0], mine + s_column + turn * block_keys);
  ld(x[1], mine + s_column + turn * block_keys + 32);
  if (p.bug != no_wait_ld_before_s_release) wait_ld();
  if (p.bug == weights_before_st) arrive(weights);
  const float factor = weigh(p, row, x, block * block_keys);
  if (block > 0) {
    if (p.bug != no_output_wait) wait(output, (block - 1) & 1);
    fence_after_thread_sync();
    if (p.bug != no_rescale && __any_sync(0xffffffff, factor != 1)) rescale(mine + o_column, factor);
  }
  put_weights(mine + weights_column(p.bug, block), x);
  if (p.bug != no_wait_st) wait_st();
  fence_before_thread_sync();
  if (p.bug != weights_before_st) arrive(weights);
}

__device__ __forceinline__ void soften(const Problem& p, uint32_t tmem, uint32_t warp) {
  const uint32_t mine = quarter(tmem, warp);
  Row row;
  for (uint32_t block = 0; block < p.blocks(); ++block) soften_block(p, row, mine, block);
  if (p.bug != no_last_output_wait) wait(output, (p.blocks() - 1) & 1);
  fence_after_thread_sync();
  const uint32_t query = blockIdx.x * rows + threadIdx.x;
  const float factor = 1 / row.sum;
  for (uint32_t column = 0; column < depth; column += 32) {
    float x[32];
    ld(x, mine + o_column + column);
    wait_ld();
    if (query >= p.queries) continue;
    float* to = p.o + uint64_t(query) * depth + column;
#pragma unroll
    for (uint32_t i = 0; i < 32; i += 4)
      *reinterpret_cast<float4*>(to + i) = {x[i] * factor, x[i + 1] * factor, x[i + 2] * factor, x[i + 3] * factor};
  }
}

__device__ __forceinline__ void init_barriers(uint32_t bug) {
  for (uint32_t i = 0; i < stages; ++i) {
    init(k_full[i], 1);
    init(k_empty[i], 1);
    init(v_full[i], 1);
    init(v_empty[i], 1);
    init(scores[i], 1);
  }
  init(q_full, 1);
  init(weights, bug == weights_count ? 4 : 128);
  init(output, 1);
  fence_mbarrier_init();
}

}  // namespace

extern "C" __global__ void __launch_bounds__(192)
    attention_chain(const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
                    const __grid_constant__ TensorMap v_map, float* o, uint32_t queries, uint32_t keys,
                    float scale SEEDED_BUG) {
  if (keys == 0) return;  // nothing to weigh; multiply() waits for a first block
  const Problem p{q_map, k_map, v_map, o, queries, keys, scale, bug};
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
    soften(p, tmem, warp);
  }
  fence_before_thread_sync();
  if (bug != dealloc_early) __syncthreads();
  fence_after_thread_sync();
  if (warp == 5 && bug != no_dealloc) {
    __syncwarp();
    dealloc<1>(tmem, tmem_columns);
  }
}
