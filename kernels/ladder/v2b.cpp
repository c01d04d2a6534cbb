// Rung 2b: both ideas, the 128-byte swizzle and one copy a tile. K must be a multiple of 64: a row has whole columns of
// 128 bytes.
#include "kernels/ladder/ladder.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int M = 128, N = 256, K = 256;

using ATile = SharedTile<bf16, M, K, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;

constexpr auto parameter_list =
    parameters("A"_arg.is<TensorMap3d<ATile>>(), "B"_arg.is<TensorMap3d<BTile>>(), "D"_arg.is<Pointer<bf16>>(),
               "m"_arg.is<u32>(), "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

}  // namespace

Kernel gemm_v2b(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_v2b", target, warps<4>);
  const auto given = declare(gemm, parameter_list);
  const auto& A = given["A"_arg];
  const auto& B = given["B"_arg];
  const Result D{given["D"_arg], given["m"_arg], given["n"_arg]};
  const U32 k_blocks = given["k_blocks"_arg];

  auto a = gemm.shared<ATile>();
  auto b = gemm.shared<BTile>();
  auto loaded = gemm.mbarrier("loaded");
  auto multiplied = gemm.mbarrier("multiplied");
  auto acc = gemm.tmem<f32, M, N>("acc");

  U32 row = gemm.ctaid.x * M, col = gemm.ctaid.y * N;

  gemm.role("tile", warpgroup<0>, [&](Warpgroup& g) {
    g.loop(k_blocks, [&](U32 i) {
      const Phase phase(i & 1);                       // each barrier completes one phase a step
      g.elect([&](Thread t) {
        t.expect_tx(loaded, ATile::transaction_bytes + BTile::transaction_bytes);
        t.tma_load(a, A.at(row, i * K), loaded);
        t.tma_load(b, B.at(col, i * K), loaded);
        t.wait(loaded, phase);
        t.mma_tiles(acc, a, b, accumulate(i != 0));
        t.commit(multiplied);                         // arrives when these MMAs have completed
      });
      g.wait(multiplied, phase);
      g.sync();                                       // no warp may be two phases late
    });
    store_rows(g, acc, D, row, col);
  });

  return gemm.build();
}

launch::Contract gemm_v2b_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  return ladder_problem(kernel, parameter_list, s, gemm_grid(s, M, N), K);
}

}  // namespace kiln::kernels
