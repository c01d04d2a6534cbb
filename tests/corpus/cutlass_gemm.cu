// A GEMM of CUTLASS's SM100 collectives. The program is its PTX's launch: it prints, as JSON, what the kernel's
// parameters hold. It needs no GPU: the one driver function that CUTLASS calls is below.
#include <cuda.h>

#include <cstdio>
#include <cstring>

#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/device_kernel.h"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/util/packed_stride.hpp"

// Writes a number where the map would be and prints what the map is.
extern "C" CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                                   void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                                                   const cuuint32_t* box, const cuuint32_t*, CUtensorMapInterleave,
                                                   CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                                   CUtensorMapFloatOOBfill) {
  static int count = 0;
  std::memset(map, 0, sizeof *map);
  std::snprintf(reinterpret_cast<char*>(map), sizeof *map, "TENSOR_MAP_%d", count);
  std::printf("{\"map\": %d, \"address\": %llu, \"type\": %d, \"swizzle\": %d, \"dims\": [", count++,
              reinterpret_cast<unsigned long long>(address), int(type), int(swizzle));
  for (cuuint32_t i = 0; i < rank; ++i) std::printf("%s%llu", i ? ", " : "", (unsigned long long)dims[i]);
  std::printf("], \"strides\": [");
  for (cuuint32_t i = 0; i + 1 < rank; ++i) std::printf("%s%llu", i ? ", " : "", (unsigned long long)strides[i]);
  std::printf("], \"box\": [");
  for (cuuint32_t i = 0; i < rank; ++i) std::printf("%s%u", i ? ", " : "", box[i]);
  std::printf("]}\n");
  return CUDA_SUCCESS;
}

namespace corpus {

using namespace cute;
using Element = ELEMENT;
using Tile = Shape<Int<TILE_M>, Int<TILE_N>, Int<128 / sizeof(Element)>>;
using Cluster = Shape<Int<CLUSTER_M>, _1, _1>;
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
constexpr int alignment = 16 / int(sizeof(Element));
using Sm100 = cutlass::arch::Sm100;
using TensorOp = cutlass::arch::OpClassTensorOp;

using Epilogue = cutlass::epilogue::collective::CollectiveBuilder<
    Sm100, TensorOp, Tile, Cluster, cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, Row, 8,
    OUT, Row, 16 / int(sizeof(OUT)), cutlass::epilogue::collective::EpilogueScheduleAuto>::CollectiveOp;
using Mainloop = cutlass::gemm::collective::CollectiveBuilder<
    Sm100, TensorOp, Element, Row, alignment, Element, Column, alignment, float, Tile, Cluster,
    cutlass::gemm::collective::StageCountAutoCarveout<int(sizeof(typename Epilogue::SharedStorage))>,
    cutlass::gemm::collective::KernelScheduleAuto>::CollectiveOp;
using Gemm = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue, void>;

}  // namespace corpus

using corpus::Gemm;
void (*volatile kernel)(typename Gemm::Params) = cutlass::device_kernel<Gemm>;  // makes its PTX

int main(int count, char** words) {
  if (count != 4) return 1;
  const int m = std::atoi(words[1]), n = std::atoi(words[2]), k = std::atoi(words[3]);
  const auto at = [](auto* type, unsigned long long address) {
    return reinterpret_cast<decltype(type)>(address);
  };
  ELEMENT* element = nullptr;
  typename Gemm::Arguments arguments{
      cutlass::gemm::GemmUniversalMode::kGemm,
      {m, n, k, 1},
      {at(element, 0xA00000000), cutlass::make_cute_packed_stride(Gemm::StrideA{}, cute::make_shape(m, k, 1)), at(element, 0xB00000000),
       cutlass::make_cute_packed_stride(Gemm::StrideB{}, cute::make_shape(n, k, 1))},
      {{1.0f, 0.0f}, nullptr, {}, at(static_cast<OUT*>(nullptr), 0xD00000000),
       cutlass::make_cute_packed_stride(typename Gemm::StrideD{}, cute::make_shape(m, n, 1))}};
  arguments.hw_info.sm_count = 4;
  arguments.hw_info.cluster_shape = dim3(CLUSTER_M, 1, 1);
  arguments.hw_info.cluster_shape_fallback = dim3(CLUSTER_M, 1, 1);
  const typename Gemm::Params params = Gemm::to_underlying_arguments(arguments, nullptr);
  const dim3 grid = Gemm::get_grid_shape(params), block = Gemm::get_block_shape();
  std::printf("{\"grid\": [%u, %u, %u], \"block\": %u, \"shared\": %d, \"params\": \"", grid.x, grid.y, grid.z, block.x,
              int(Gemm::SharedStorageSize));
  for (std::size_t i = 0; i < sizeof params; ++i)
    std::printf("%02x", reinterpret_cast<const unsigned char*>(&params)[i]);
  std::printf("\"}\n");
}
