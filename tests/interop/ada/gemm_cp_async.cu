// D[m,n] = A[m,k] * B[n,k]^T in bf16, e4m3 and s8, without TMA: four warps copy with cp.async through a ring of two
// stages and later store, the fifth multiplies. What such a kernel is made of, tensor memory aside, sm_89 has too. n is
// a multiple of four.
#include "../tcgen05.cuh"

namespace {

using namespace ptx;

constexpr uint32_t tile_m = 128, tile_n = 64, row_bytes = 128, stages = 2, loaders = 128, chunk = 16;
constexpr uint32_t a_bytes = tile_m * row_bytes, b_bytes = tile_n * row_bytes;

enum class Kind { bf16, e4m3, s8 };

template <Kind kind>
struct Traits {
  static constexpr uint32_t bytes = kind == Kind::bf16 ? 2 : 1;  // of an element of A or B
  static constexpr uint32_t types = kind == Kind::bf16 ? 1u << 4 | 1u << 7 | 1u << 10
                                    : kind == Kind::s8 ? 2u << 4 | 1u << 7 | 1u << 10
                                                       : 1u << 4;
  static constexpr uint32_t idesc = types | tile_n >> 3 << 17 | tile_m >> 4 << 24;
};

template <Kind kind>
__device__ __forceinline__ void multiply_step(uint32_t d, uint64_t a, uint64_t b, bool accumulate) {
  if constexpr (kind == Kind::bf16)
    mma(d, a, b, Traits<kind>::idesc, accumulate);
  else if constexpr (kind == Kind::e4m3)
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.u32 p, %4, 0;\n"
        "tcgen05.mma.cta_group::1.kind::f8f6f4 [%0], %1, %2, %3, p;\n}" ::"r"(d),
        "l"(a), "l"(b), "r"(Traits<kind>::idesc), "r"(uint32_t(accumulate))
        : "memory");
  else
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.u32 p, %4, 0;\n"
        "tcgen05.mma.cta_group::1.kind::i8 [%0], %1, %2, %3, p;\n}" ::"r"(d),
        "l"(a), "l"(b), "r"(Traits<kind>::idesc), "r"(uint32_t(accumulate))
        : "memory");
}

// 16 bytes, or as many zeros.
__device__ __forceinline__ void copy_async(void* to, const void* from, bool is_there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared(to)), "l"(from), "r"(is_there ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int later>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(later) : "memory");
}

struct Matrix {
  const uint8_t* data;
  uint32_t rows, pitch;  // bytes
};

extern __shared__ __align__(1024) uint8_t tiles[];  // stages of A, then stages of B
__shared__ uint64_t full[stages], empty[stages], done;
__shared__ uint32_t tmem_slot;

__device__ __forceinline__ uint8_t* a_tile(uint32_t stage) { return tiles + stage * a_bytes; }
__device__ __forceinline__ uint8_t* b_tile(uint32_t stage) { return tiles + stages * a_bytes + stage * b_bytes; }

// 128 bytes of each row, in the 128-byte swizzle.
template <uint32_t rows>
__device__ __forceinline__ void copy_tile(uint8_t* to, const Matrix& m, uint32_t first, uint32_t at) {
#pragma unroll
  for (uint32_t i = 0; i < rows * row_bytes / chunk / loaders; ++i) {
    const uint32_t index = i * loaders + threadIdx.x, row = index / 8, column = index % 8;
    const bool is_there = first + row < m.rows && at + column * chunk < m.pitch;
    const uint64_t offset = is_there ? uint64_t(first + row) * m.pitch + at + column * chunk : 0;
    copy_async(to + row * row_bytes + ((column ^ (row & 7)) * chunk), m.data + offset, is_there);
  }
}

__device__ __forceinline__ void publish(uint32_t block) {
  fence_proxy_async();
  arrive(full[block % stages]);
}

__device__ __forceinline__ void load(const Matrix& a, const Matrix& b, uint32_t row, uint32_t column, uint32_t blocks) {
#pragma unroll 1
  for (uint32_t block = 0; block < blocks; ++block) {
    const uint32_t stage = block % stages;
    if (block >= stages) wait(empty[stage], (block / stages - 1) & 1);
    copy_tile<tile_m>(a_tile(stage), a, row, block * row_bytes);
    copy_tile<tile_n>(b_tile(stage), b, column, block * row_bytes);
    commit_copies();
    if (block == 0) continue;
    wait_for_copies<1>();
    publish(block - 1);
  }
  wait_for_copies<0>();
  publish(blocks - 1);
}

template <Kind kind>
__device__ __forceinline__ void multiply(uint32_t d, uint32_t blocks) {
#pragma unroll 1
  for (uint32_t block = 0; block < blocks; ++block) {
    const uint32_t stage = block % stages;
    wait(full[stage], block / stages & 1);
    fence_after_thread_sync();
    const uint64_t a = describe(a_tile(stage)), b = describe(b_tile(stage));
#pragma unroll
    for (uint32_t i = 0; i < row_bytes / 32; ++i)
      multiply_step<kind>(d, advance(a, i * 32), advance(b, i * 32), block > 0 || i > 0);
    commit(empty[stage]);
  }
  commit(done);
}

template <Kind kind>
__device__ __forceinline__ void store(uint32_t tmem, void* d, uint32_t m, uint32_t n, uint32_t row, uint32_t column) {
  wait(done, 0);
  fence_after_thread_sync();
  row += threadIdx.x;
#pragma unroll 1
  for (uint32_t c = 0; c < tile_n; c += 32) {
    float x[32];
    ld(x, quarter(tmem + c, threadIdx.x / 32));
    wait_ld();
    if (row >= m) continue;
#pragma unroll
    for (uint32_t i = 0; i < 32; i += 4) {
      if (column + c + i >= n) continue;
      const uint64_t at = uint64_t(row) * n + column + c + i;
      if constexpr (kind == Kind::s8)
        reinterpret_cast<float4*>(d)[at / 4] = {x[i], x[i + 1], x[i + 2], x[i + 3]};  // the bits of integers
      else
        reinterpret_cast<uint2*>(d)[at / 4] = {bf16x2(x[i], x[i + 1]), bf16x2(x[i + 2], x[i + 3])};
    }
  }
  fence_before_thread_sync();
}

template <Kind kind>
__device__ __forceinline__ void gemm(const uint8_t* a, const uint8_t* b, void* d, uint32_t m, uint32_t n, uint32_t k) {
  const uint32_t warp = threadIdx.x / 32, row = blockIdx.x * tile_m, column = blockIdx.y * tile_n;
  const uint32_t pitch = k * Traits<kind>::bytes, blocks = (pitch + row_bytes - 1) / row_bytes;
  if (warp == 4) alloc<1>(tmem_slot, tile_n);
  if (warp == 4 && elect()) {
    for (uint32_t i = 0; i < stages; ++i) {
      init(full[i], loaders);
      init(empty[i], 1);
    }
    init(done, 1);
    fence_mbarrier_init();
  }
  fence_before_thread_sync();
  __syncthreads();
  fence_after_thread_sync();
  const uint32_t tmem = tmem_slot;
  if (warp < 4) {
    load({a, m, pitch}, {b, n, pitch}, row, column, blocks);
    store<kind>(tmem, d, m, n, row, column);
  } else if (elect()) {
    multiply<kind>(tmem, blocks);
  }
  __syncthreads();
  fence_after_thread_sync();
  if (warp == 4) dealloc<1>(tmem, tile_n);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(loaders + 32)
    gemm_bf16_cp_async(const uint8_t* a, const uint8_t* b, void* d, uint32_t m, uint32_t n, uint32_t k) {
  gemm<Kind::bf16>(a, b, d, m, n, k);
}
extern "C" __global__ void __launch_bounds__(loaders + 32)
    gemm_e4m3_cp_async(const uint8_t* a, const uint8_t* b, void* d, uint32_t m, uint32_t n, uint32_t k) {
  gemm<Kind::e4m3>(a, b, d, m, n, k);
}
extern "C" __global__ void __launch_bounds__(loaders + 32)
    gemm_s8_cp_async(const uint8_t* a, const uint8_t* b, void* d, uint32_t m, uint32_t n, uint32_t k) {
  gemm<Kind::s8>(a, b, d, m, n, k);
}
