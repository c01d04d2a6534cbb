// Kernels of FlashInfer's CUDA headers, launched as its own host functions launch them. CASE chooses one, so that a
// file of PTX has few kernels.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#define RMS_NORM 1
#define FUSED_ADD_RMS_NORM 2
#define RMS_NORM_QUANT 3
#define LAYER_NORM 4
#define SILU_AND_MUL 5
#define ROPE 6
#define MERGE_STATE 7
#define PACK_BITS 8
#define TOP_P_SAMPLING 9
#define SOFTMAX 10
#define APPEND_PAGED 11
#define SINGLE_DECODE 12
#define BATCH_DECODE 13
#define SINGLE_PREFILL 14
#define FUSED_ADD_NORM_QUANT 15

using bf16 = __nv_bfloat16;

#if CASE == RMS_NORM || CASE == FUSED_ADD_RMS_NORM || CASE == RMS_NORM_QUANT || CASE == LAYER_NORM || \
    CASE == FUSED_ADD_NORM_QUANT
#include "flashinfer/norm.cuh"
using namespace flashinfer::norm;
extern "C" void run(void** p, int rows, int columns) {
  auto x = static_cast<bf16*>(p[0]);
#if CASE == RMS_NORM
  RMSNorm<bf16>(x, static_cast<bf16*>(p[1]), static_cast<bf16*>(p[2]), rows, columns, columns, columns, 1e-5f);
#elif CASE == FUSED_ADD_RMS_NORM
  FusedAddRMSNorm<bf16>(x, static_cast<bf16*>(p[1]), static_cast<bf16*>(p[2]), rows, columns, columns, columns, 1e-5f,
                        true);
#elif CASE == RMS_NORM_QUANT
  RMSNormQuant<bf16, __nv_fp8_e4m3>(x, static_cast<bf16*>(p[1]), static_cast<__nv_fp8_e4m3*>(p[2]), rows, columns,
                                    columns, columns, static_cast<float*>(p[3]), 1e-5f);
#elif CASE == FUSED_ADD_NORM_QUANT
  FusedAddRMSNormQuant<bf16, __nv_fp8_e4m3>(x, static_cast<bf16*>(p[1]), static_cast<bf16*>(p[2]),
                                            static_cast<__nv_fp8_e4m3*>(p[3]), rows, columns, columns, columns, columns,
                                            static_cast<float*>(p[4]), 1e-5f, true);
#else
  LayerNorm<bf16, float>(x, static_cast<float*>(p[1]), static_cast<float*>(p[2]), static_cast<bf16*>(p[3]), rows,
                         columns);
#endif
}
#elif CASE == SILU_AND_MUL
#include "flashinfer/activation.cuh"
__device__ __forceinline__ float silu(const float& x) { return x / (1.0f + __expf(-x)); }
extern "C" void run(void** p, int rows, int columns) {
  flashinfer::activation::act_and_mul_kernel<bf16, silu, 8>
      <<<rows, columns / 8 < 256 ? columns / 8 : 256>>>(static_cast<bf16*>(p[1]), static_cast<bf16*>(p[0]), columns);
}
#elif CASE == ROPE
#include "flashinfer/pos_enc.cuh"
extern "C" void run(void** p, int tokens, int heads) {
  const size_t n = heads * 64, h = 64;
  flashinfer::BatchQKApplyRotaryPosIdsKernel<false, 64, 8, 8, bf16, int32_t><<<(tokens + 15) / 16, dim3(8, 16)>>>(
      static_cast<bf16*>(p[0]), static_cast<bf16*>(p[1]), static_cast<bf16*>(p[2]), static_cast<bf16*>(p[3]),
      static_cast<int32_t*>(p[4]), uint32_t(tokens), uint32_t(heads), uint32_t(heads), 64u, n, h, n, h, n, h, n, h,
      0.0f, 0.0f, 1.0f, 1e-4f);
}
#elif CASE == MERGE_STATE
#include "flashinfer/attention/cascade.cuh"
extern "C" void run(void** p, int length, int heads) {
  flashinfer::MergeStateKernel<8, bf16, bf16><<<length, dim3(16, heads)>>>(
      static_cast<bf16*>(p[0]), static_cast<float*>(p[1]), static_cast<bf16*>(p[2]), static_cast<float*>(p[3]),
      static_cast<bf16*>(p[4]), static_cast<float*>(p[5]), uint32_t(heads), 128u);
}
#elif CASE == PACK_BITS
#include "flashinfer/quantization.cuh"
extern "C" void run(void** p, int count, int) {
  flashinfer::quantization::PackBits(static_cast<bool*>(p[0]), static_cast<uint8_t*>(p[1]), count,
                                     flashinfer::quantization::BitOrder::kLittle, nullptr);
}
#elif CASE == TOP_P_SAMPLING || CASE == SOFTMAX
#include "flashinfer/sampling.cuh"
extern "C" void run(void** p, int rows, int columns) {
#if CASE == SOFTMAX
  flashinfer::sampling::OnlineSoftmax<float>(static_cast<float*>(p[0]), static_cast<float*>(p[1]), rows, columns,
                                             nullptr, 1.0f, nullptr, 0, false);
#else
  flashinfer::sampling::TopPSamplingFromProb<float, int32_t>(static_cast<float*>(p[0]), static_cast<int32_t*>(p[1]),
                                                             static_cast<bool*>(p[2]), nullptr, nullptr, rows, 0.3f,
                                                             columns, true, nullptr, 7, nullptr, 0);
#endif
}
#elif CASE == APPEND_PAGED
#include "flashinfer/page.cuh"
extern "C" void run(void** p, int batch, int heads) {
  flashinfer::paged_kv_t<bf16, int32_t> cache(
      heads, 16, 128, batch, flashinfer::QKVLayout::kNHD, static_cast<bf16*>(p[0]), static_cast<bf16*>(p[1]),
      static_cast<int32_t*>(p[2]), static_cast<int32_t*>(p[3]), static_cast<int32_t*>(p[4]));
  flashinfer::AppendPagedKVCacheDecodeKernel<128, 8, bf16, int32_t>
      <<<batch, dim3(16, heads)>>>(cache, static_cast<bf16*>(p[5]), static_cast<bf16*>(p[6]));
}
#elif CASE == SINGLE_DECODE || CASE == BATCH_DECODE
#include "flashinfer/attention/decode.cuh"
#include "flashinfer/attention/default_decode_params.cuh"
#include "flashinfer/attention/variants.cuh"
using Variant = flashinfer::DefaultAttention<false, false, false, false>;
constexpr auto none = flashinfer::PosEncodingMode::kNone;
#if CASE == SINGLE_DECODE
extern "C" void run(void** p, int length, int heads) {
  using Params = flashinfer::SingleDecodeParams<bf16, bf16, bf16>;
  Params params(static_cast<bf16*>(p[0]), static_cast<bf16*>(p[1]), static_cast<bf16*>(p[2]), static_cast<bf16*>(p[3]),
                nullptr, length, heads, heads / 4, flashinfer::QKVLayout::kNHD, 128, -1, 0.0f, 0.08838834764f, 1.0f,
                1e4f);
  params.kv_chunk_size = length;
  auto kernel = flashinfer::SingleDecodeWithKVCacheKernel<none, 2, 1, 8, 16, 4, 2, Variant, Params>;
  const size_t shared = 2 * 2 * 4 * 1 * 2 * 128 * sizeof(bf16) + 2 * 4 * 2 * sizeof(float);
  void* arguments[] = {&params};
  cudaLaunchKernel(reinterpret_cast<void*>(kernel), dim3(1, heads / 4), dim3(16, 4, 2), arguments,
                   shared > 4096 + 64 ? shared : 4160, nullptr);
}
#else
extern "C" void run(void** p, int batch, int heads) {
  using Params = flashinfer::BatchDecodeParams<bf16, bf16, bf16, int32_t>;
  flashinfer::paged_kv_t<bf16, int32_t> cache(
      heads / 4, 16, 128, batch, flashinfer::QKVLayout::kNHD, static_cast<bf16*>(p[1]), static_cast<bf16*>(p[2]),
      static_cast<int32_t*>(p[3]), static_cast<int32_t*>(p[4]), static_cast<int32_t*>(p[5]));
  Params params(static_cast<bf16*>(p[0]), nullptr, cache, static_cast<bf16*>(p[6]), static_cast<float*>(p[7]), nullptr,
                heads, heads * 128, 128, -1, 0.0f, 0.08838834764f, 1.0f, 1e4f);
  params.request_indices = static_cast<int32_t*>(p[8]);
  params.kv_tile_indices = static_cast<int32_t*>(p[9]);
  params.o_indptr = static_cast<int32_t*>(p[10]);
  params.kv_chunk_size_ptr = static_cast<int32_t*>(p[11]);
  params.padded_batch_size = batch;
  auto kernel = flashinfer::BatchDecodeWithPagedKVCacheKernel<none, 2, 4, 8, 16, 4, 2, Variant, Params>;
  const size_t shared = 2 * 2 * 4 * 2 * 4 * 128 * sizeof(bf16) + 4096;
  void* arguments[] = {&params};
  cudaLaunchKernel(reinterpret_cast<void*>(kernel), dim3(batch, heads / 4), dim3(16, 4, 2), arguments, shared, nullptr);
}
#endif
#elif CASE == SINGLE_PREFILL
#include "flashinfer/attention/default_prefill_params.cuh"
#include "flashinfer/attention/prefill.cuh"
#include "flashinfer/attention/variants.cuh"
extern "C" void run(void** p, int length, int heads) {
  using Params = flashinfer::SinglePrefillParams<bf16, bf16, bf16>;
  using Variant = flashinfer::DefaultAttention<false, false, false, false>;
  Params params(static_cast<bf16*>(p[0]), static_cast<bf16*>(p[1]), static_cast<bf16*>(p[2]), nullptr,
                static_cast<bf16*>(p[3]), nullptr, nullptr, heads, heads / 2, length, length, heads * 64, 64,
                heads / 2 * 64, 64, 64, -1, 0.0f, 0.125f, 1.0f, 1e4f);
  flashinfer::SinglePrefillWithKVCacheDispatched<64, 64, flashinfer::PosEncodingMode::kNone, false,
                                                 flashinfer::MaskMode::kCausal, Variant>(params, nullptr, nullptr);
}
#endif
