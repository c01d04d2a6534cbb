// A plain gemm on mma.sync, so that timing and cuBLAS beside it can be tried on any GPU from sm_80 on:
//   nvcc -arch=sm_90a -ptx gemm_wmma.cu && ./contract M N K > l.json && kiln gpu gemm_wmma.ptx --launch l.json --time
#include <cuda_bf16.h>
#include <mma.h>

using namespace nvcuda;

// D[M,N] = A[M,K] * B[N,K]^T. A CTA of 8 warps owns 128 x 128 elements of D, a warp 32 x 64.
extern "C" __global__ void __launch_bounds__(256)
    gemm_wmma(const __nv_bfloat16* A, const __nv_bfloat16* B, float* D, unsigned n, unsigned k) {
  const unsigned warp = threadIdx.x / 32;
  const unsigned row = blockIdx.y * 128 + warp / 2 * 32, column = blockIdx.x * 128 + warp % 2 * 64;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][4];
  for (auto& line : sums)
    for (auto& sum : line) wmma::fill_fragment(sum, 0.0f);
  for (unsigned i = 0; i < k; i += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a[2];
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> b[4];
    for (int r = 0; r < 2; ++r) wmma::load_matrix_sync(a[r], A + size_t(row + 16 * r) * k + i, k);
    for (int c = 0; c < 4; ++c) wmma::load_matrix_sync(b[c], B + size_t(column + 16 * c) * k + i, k);
    for (int r = 0; r < 2; ++r)
      for (int c = 0; c < 4; ++c) wmma::mma_sync(sums[r][c], a[r], b[c], sums[r][c]);
  }
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 4; ++c)
      wmma::store_matrix_sync(D + size_t(row + 16 * r) * n + column + 16 * c, sums[r][c], n, wmma::mem_row_major);
}
