// Rung 6: persistent. As many pairs as the GPU holds stay until the work is done; each takes every n-th tile. With two
// accumulators in tensor memory the tensor core goes on with the next tile while the last one is stored.
#include "kernels/ladder/ladder.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, 256, 256, cta_group_2>;
constexpr int K = 64, stages = 7;
constexpr int a = 0, b = 1;                           // places in a slot

using ATile = Mma::ATile<K, K_major, swizzle_128B>;
using BTile = Mma::BTile<K, K_major, swizzle_128B>;

constexpr auto parameter_list =
    parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(), "D"_arg.is<Pointer<bf16>>(),
               "m"_arg.is<u32>(), "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

}  // namespace

Kernel gemm_v6(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_v6", target, warps<6>, cta_group_2);
  const auto given = declare(gemm, parameter_list);
  const auto& A = given["A"_arg];
  const auto& B = given["B"_arg];
  const Result D{given["D"_arg], given["m"_arg], given["n"_arg]};
  const U32 k_blocks = given["k_blocks"_arg];

  auto in = gemm.ring<stages, ATile, BTile>("in");
  auto acc = gemm.accumulator_ring<2, Mma>("acc");    // all 512 columns
  auto tiles = gemm.tiles(static_schedule, gemm.ceil_div(D.m, Mma::M), gemm.ceil_div(D.n, Mma::N));
  U32 rank = gemm.pair_rank();

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace tile) {
      U32 row = tile.row * Mma::M + rank * Mma::a_rows, col = tile.column * Mma::N + rank * Mma::b_rows;
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.acquire(t);
        t.tma_load(slot.get<a>(), A.at(row, i * K), slot.full);
        t.tma_load(slot.get<b>(), B.at(col, i * K), slot.full);
      });
    });
  });
  gemm.role("mma", leader_cta, warp<5>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace) {
      auto d = acc.acquire(t);                        // waits until both CTAs have read it
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.wait(t);
        t.mma_tiles<Mma>(d.sums, slot.get<a>(), slot.get<b>(), accumulate(i != 0));
        t.commit(slot.empty, all_ctas);
      });
      t.commit(d.full, all_ctas);
    });
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    g.loop(tiles, [&](TilePlace tile) {
      auto d = acc.wait(g);
      store_rows(g, d.sums, D, tile.row * Mma::M + rank * Mma::a_rows, tile.column * Mma::N);
      acc.release(g, d);
    });
  });

  return gemm.build();
}

launch::Contract gemm_v6_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  return ladder_problem(kernel, parameter_list, s, persistent_grid(sizes, Mma::M, Mma::N, 2), K);
}

}  // namespace kiln::kernels
