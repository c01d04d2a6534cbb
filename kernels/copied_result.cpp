#include "kernels/copied_result.hpp"

#include <array>

#include "kernels/problem.hpp"
#include "kernels/register_block.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

template <class T>
class CopiedResult {
 public:
  using Tile = SharedTile<T, isa::tmem_lanes, GemmPlan::copied_columns, K_major,
                          T::bits * GemmPlan::copied_columns == 8 * 64 ? swizzle_64B : swizzle_128B>;

  explicit CopiedResult(KernelBuilder& gemm)
      : map_(gemm.param<TensorMap<Tile>>("D")), out_(gemm.store_ring<GemmPlan::copied_blocks, Tile>("out")) {}

  // Stores the sums of a tile, which belong at (row, col).
  void operator()(Warpgroup& g, const AnyTmem& sums, const U32& row, const U32& col) {
    for (int c = 0; c < sums.count; c += Tile::cols) {
      const AnyRegisters block = converted(g.wait(g.load(sums.columns(c, Tile::cols))), element_type<T>);
      const auto slot = out_.acquire(g);
      g.store(slot, Registers<T, Tile::cols>(block.recorder(), block.operands()));
      out_.publish(g, slot, map_.at(row, col + c));
    }
  }

 private:
  TensorMap<Tile> map_;
  StoreRing<GemmPlan::copied_blocks, Tile> out_;
};
template <class T, int columns>
class RegistersResult {
 public:
  using Tile = SharedTile<T, isa::wgmma_m, columns, K_major, T::bits * columns == 8 * 64 ? swizzle_64B : swizzle_128B>;

  explicit RegistersResult(KernelBuilder& gemm)
      : map_(gemm.param<TensorMap<Tile>>("D")),
        out_{gemm.store_ring<GemmPlan::multiplier_blocks, Tile>("out_0"),
             gemm.store_ring<GemmPlan::multiplier_blocks, Tile>("out_1")} {}

  // Stores the sums of the warpgroup `which`, which belong at (row, col).
  void operator()(Warpgroup& g, int which, RegisterSums& sums, int sum_columns, const U32& row, const U32& col) {
    for (int block = 0; block < sums.blocks(); ++block)
      for (int c = 0; c < sum_columns; c += columns) {
        const auto slot = out_[std::size_t(which)].acquire(g);
        store_block(g, slot, sums, block, c);
        out_[std::size_t(which)].publish(g, slot, map_.at(row + block * Tile::rows, col + c));
      }
  }

 private:
  TensorMap<Tile> map_;
  std::array<StoreRing<GemmPlan::multiplier_blocks, Tile>, 2> out_;
};
template <class T>
RegistersOut registers_result(KernelBuilder& gemm, int columns) {
  if constexpr (T::bits == 16)
    if (columns == 64) return RegistersResult<T, 64>(gemm);
  return RegistersResult<T, 32>(gemm);
}

}  // namespace

CopyOut copied_result(KernelBuilder& gemm, ElementType element) {
  switch (element.scalar) {
    case ScalarType::bf16: return CopiedResult<bf16>(gemm);
    case ScalarType::f16: return CopiedResult<f16>(gemm);
    case ScalarType::s32: return CopiedResult<s32>(gemm);
    default: return CopiedResult<f32>(gemm);
  }
}

RegistersOut registers_result(KernelBuilder& gemm, ElementType element, int columns) {
  switch (element.scalar) {
    case ScalarType::bf16: return registers_result<bf16>(gemm, columns);
    case ScalarType::f16: return registers_result<f16>(gemm, columns);
    case ScalarType::s32: return registers_result<s32>(gemm, columns);
    default: return registers_result<f32>(gemm, columns);
  }
}

}  // namespace kiln::kernels
