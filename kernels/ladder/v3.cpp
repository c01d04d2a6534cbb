// Rung 3: pipelining. Two slots instead of one buffer: while the tensor core multiplies one block, the next is on its
// way. One thread still does both; it loads a step ahead.
#include "kernels/ladder/ladder.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int M = 128, N = 256, K = 128, stages = 2;

using ATile = SharedTile<bf16, M, K, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;

constexpr auto parameter_list =
    parameters("A"_arg.is<TensorMap3d<ATile>>(), "B"_arg.is<TensorMap3d<BTile>>(), "D"_arg.is<Pointer<bf16>>(),
               "m"_arg.is<u32>(), "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

}  // namespace

Kernel gemm_v3(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_v3", target, warps<4>);
  const auto given = declare(gemm, parameter_list);
  const auto& A = given["A"_arg];
  const auto& B = given["B"_arg];
  const Result D{given["D"_arg], given["m"_arg], given["n"_arg]};
  const U32 k_blocks = given["k_blocks"_arg];

  auto in = gemm.ring<stages, ATile, BTile>("in");    // shared slots, each with a full and an empty mbarrier
  auto acc = gemm.tmem<f32, M, N>("acc");

  U32 row = gemm.ctaid.x * M, col = gemm.ctaid.y * N;

  gemm.role("tile", warpgroup<0>, [&](Warpgroup& g) {
    g.elect([&](Thread t) {
      const auto load = [&](U32 i) {
        auto slot = in.acquire(t);                    // waits until empty, expects the slot's bytes
        t.tma_load(slot.get<ATile>(), A.at(row, i * K), slot.full);
        t.tma_load(slot.get<BTile>(), B.at(col, i * K), slot.full);
      };
      t.when(k_blocks > 0, [&] { load(gemm.constant(0)); });
      t.loop(k_blocks, [&](U32 i) {
        t.when(i + 1 < k_blocks, [&] { load(i + 1); });
        auto slot = in.wait(t);                       // waits until full
        t.mma_tiles(acc, slot.get<ATile>(), slot.get<BTile>(), accumulate(i != 0));
        t.commit(slot.empty);                         // empty again once these MMAs have read it
      });
      in.drain(t);                                    // all slots empty: all MMAs done
    });
    g.sync();
    store_rows(g, acc, D, row, col);
  });

  return gemm.build();
}

launch::Contract gemm_v3_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  return ladder_problem(kernel, parameter_list, s, gemm_grid(s, M, N), K);
}

}  // namespace kiln::kernels
