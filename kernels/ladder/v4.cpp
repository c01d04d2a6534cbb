// Rung 4: warp specialisation. Loading and multiplying only need one thread each, so each gets a warp of its own and
// waits for the ring alone. Warp 4 loads, warp 5 multiplies, warps 0-3 store.
#include "kernels/ladder/ladder.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int M = 128, N = 256, K = 64, stages = 4;

using ATile = SharedTile<bf16, M, K, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;

constexpr auto parameter_list =
    parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(), "D"_arg.is<Pointer<bf16>>(),
               "m"_arg.is<u32>(), "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

}  // namespace

Kernel gemm_v4(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_v4", target, warps<6>);
  const auto given = declare(gemm, parameter_list);
  const auto& A = given["A"_arg];
  const auto& B = given["B"_arg];
  const Result D{given["D"_arg], given["m"_arg], given["n"_arg]};
  const U32 k_blocks = given["k_blocks"_arg];

  auto in = gemm.ring<stages, ATile, BTile>("in");
  auto done = gemm.mbarrier("done");
  auto acc = gemm.tmem<f32, M, N>("acc");

  U32 row = gemm.ctaid.x * M, col = gemm.ctaid.y * N;

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(k_blocks, [&](U32 i) {
      auto slot = in.acquire(t);
      t.tma_load(slot.get<ATile>(), A.at(row, i * K), slot.full);
      t.tma_load(slot.get<BTile>(), B.at(col, i * K), slot.full);
    });
  });
  gemm.role("mma", warp<5>.elect(), [&](Thread t) {
    t.loop(k_blocks, [&](U32 i) {
      auto slot = in.wait(t);
      t.mma_tiles(acc, slot.get<ATile>(), slot.get<BTile>(), accumulate(i != 0));
      t.commit(slot.empty);
    });
    t.commit(done);
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    g.wait(done, Phase{0});
    store_rows(g, acc, D, row, col);
  });

  return gemm.build();
}

launch::Contract gemm_v4_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  return ladder_problem(kernel, parameter_list, s, gemm_grid(s, M, N), K);
}

}  // namespace kiln::kernels
