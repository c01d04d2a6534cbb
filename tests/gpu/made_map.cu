/// Measures whether a tensor map that a kernel makes out of zeros, with tensormap.replace alone, is the one that the
/// driver encodes: what a copy with it brings, inside the tensor and beyond its rows, and which of the 128 bytes differ.
/// `host` copies with the driver's map, `moved` with the driver's map of another matrix, its address and rows replaced.
///
///     nvcc -gencode arch=compute_90a,code=sm_90a -o made_map made_map.cu
///     for way in host moved zeros; do ./made_map $way; done
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

constexpr int columns = 192, rows = 100, box_columns = 64, box_rows = 64, tile_bytes = box_columns * box_rows * 2;

enum class Way { host, moved, zeros };

void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(3);
}

#define REPLACE64(field, ordinal, value) \
  asm volatile("tensormap.replace.tile." field ".shared::cta.b1024.b64 [%0], " ordinal "%1;" ::"r"(map), "l"(value) : "memory")
#define REPLACE32(field, ordinal, value) \
  asm volatile("tensormap.replace.tile." field ".shared::cta.b1024.b32 [%0], " ordinal "%1;" ::"r"(map), "r"(value) : "memory")
#define REPLACE_CODE(field, code) \
  asm volatile("tensormap.replace.tile." field ".shared::cta.b1024.b32 [%0], " code ";" ::"r"(map) : "memory")

__device__ void make(std::uint32_t map, const void* matrix) {
  REPLACE_CODE("rank", "1");
  REPLACE32("box_dim", "0, ", box_columns);
  REPLACE32("box_dim", "1, ", box_rows);
  REPLACE32("global_dim", "0, ", columns);
  REPLACE64("global_stride", "0, ", std::uint64_t(columns * 2));
  REPLACE32("element_stride", "0, ", 1);
  REPLACE32("element_stride", "1, ", 1);
  REPLACE_CODE("elemtype", "10");
  REPLACE_CODE("interleave_layout", "0");
  REPLACE_CODE("swizzle_mode", "3");
  REPLACE_CODE("fill_mode", "0");
  REPLACE64("global_address", "", matrix);
  REPLACE32("global_dim", "1, ", rows);
}

__global__ void copy(const __grid_constant__ CUtensorMap given, Way way, const void* matrix, CUtensorMap* place, int row,
                     std::uint8_t* out) {
  __shared__ __align__(1024) std::uint8_t tile[tile_bytes];
  __shared__ __align__(128) std::uint32_t made[32];
  __shared__ __align__(8) std::uint64_t barrier;
  const std::uint32_t map = std::uint32_t(__cvta_generic_to_shared(made)), to = std::uint32_t(__cvta_generic_to_shared(tile)),
                      full = std::uint32_t(__cvta_generic_to_shared(&barrier));
  const CUtensorMap* used = &given;
  if (way != Way::host) {
    made[threadIdx.x] = way == Way::zeros ? 0 : reinterpret_cast<const std::uint32_t*>(&given)[threadIdx.x];
    __syncwarp();
    if (threadIdx.x == 0 && way == Way::zeros) make(map, matrix);
    if (threadIdx.x == 0 && way == Way::moved) {
      REPLACE64("global_address", "", matrix);
      REPLACE32("global_dim", "1, ", rows);
    }
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(
                     place), "r"(map) : "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(place) : "memory");
    used = place;
  }
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(full) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(tile_bytes) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
        "l"(used), "r"(box_columns), "r"(row), "r"(full) : "memory");
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra AGAIN; }" ::"r"(full)
                 : "memory");
    for (int k = 0; k < tile_bytes; ++k) out[k] = tile[k];
  }
}

CUtensorMap encoded(void* matrix, std::uint64_t its_rows) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  void* encode = nullptr;
  cudaDriverEntryPointQueryResult found;
  must(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found));
  CUtensorMap map;
  const cuuint64_t dims[] = {columns, its_rows}, strides[] = {columns * 2};
  const cuuint32_t box[] = {box_columns, box_rows}, steps[] = {1, 1};
  if (Encode(encode)(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, matrix, dims, strides, box, steps,
                     CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    std::exit(3);
  return map;
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "zeros";
  const Way way = !std::strcmp(name, "host") ? Way::host : !std::strcmp(name, "moved") ? Way::moved : Way::zeros;
  std::vector<std::uint16_t> data(columns * (rows + box_rows));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = std::uint16_t(0x3c00 + i);
  std::uint8_t *matrix, *other, *out;
  CUtensorMap* place;
  must(cudaMalloc(&matrix, data.size() * 2));
  must(cudaMalloc(&other, data.size() * 2));
  must(cudaMalloc(&out, tile_bytes));
  must(cudaMalloc(&place, sizeof(CUtensorMap)));
  must(cudaMemcpy(matrix, data.data(), data.size() * 2, cudaMemcpyHostToDevice));
  const CUtensorMap right = encoded(matrix, rows), given = way == Way::moved ? encoded(other, rows / 2) : right;
  for (const int row : {8, rows - 10}) {
    copy<<<1, 32>>>(given, way, matrix, place, row, out);
    must(cudaDeviceSynchronize());
    std::vector<std::uint16_t> got(tile_bytes / 2);
    must(cudaMemcpy(got.data(), out, tile_bytes, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int r = 0; r < box_rows; ++r)
      for (int c = 0; c < box_columns; ++c) {
        const int at = r * box_columns + ((c / 8 ^ r % 8) * 8 + c % 8);
        const std::uint16_t want = row + r < rows ? data[std::size_t((row + r) * columns + box_columns + c)] : 0;
        wrong += got[std::size_t(at)] != want;
      }
    std::printf("%s, rows from %d: %d of %d elements wrong\n", name, row, wrong, tile_bytes / 2);
  }
  if (way == Way::host) return 0;
  std::uint8_t made[128];
  must(cudaMemcpy(made, place, 128, cudaMemcpyDeviceToHost));
  std::printf("%s, bytes that differ from the driver's:", name);
  for (int k = 0; k < 128; ++k)
    if (made[k] != reinterpret_cast<const std::uint8_t*>(&right)[k])
      std::printf(" %d (%02x, driver %02x)", k, made[k], reinterpret_cast<const std::uint8_t*>(&right)[k]);
  std::printf("\n");
}
