// Rung 8: the hardware hands out the tiles. The grid has a pair for every tile; a pair that is done asks for the work
// of one that has not started (clusterlaunchcontrol), so that a GPU shared with others stays busy to the end. Warp 6
// asks.
#include "kernels/ladder/ladder.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, 256, 256, cta_group_2>;
constexpr int K = 64, stages = 6;
constexpr int a = 0, b = 1;                           // places in a slot

using ATile = Mma::ATile<K, K_major, swizzle_128B>;
using BTile = Mma::BTile<K, K_major, swizzle_128B>;
using DTile = SharedTile<bf16, Mma::a_rows, 32, K_major, swizzle_64B>;

constexpr auto parameter_list = parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(),
                                           "D"_arg.is<TensorMap<DTile>>(), "rows"_arg.is<u32>(),
                                           "columns"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

}  // namespace

Kernel gemm_v8(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_v8", target, warps<7>, cta_group_2);
  const auto given = declare(gemm, parameter_list);
  const auto& A = given["A"_arg];
  const auto& B = given["B"_arg];
  const auto& D = given["D"_arg];
  const U32 k_blocks = given["k_blocks"_arg];

  auto in = gemm.ring<stages, ATile, BTile>("in");
  auto out = gemm.store_ring<4, DTile>("out");
  auto acc = gemm.accumulator_ring<2, Mma>("acc");
  auto tiles = gemm.tiles(launch_control.in_groups_of(8), given["rows"_arg], given["columns"_arg]);
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
      auto d = acc.acquire(t);
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.wait(t);
        t.mma_tiles<Mma>(d.sums, slot.get<a>(), slot.get<b>(), accumulate(i != 0));
        t.commit(slot.empty, all_ctas);
      });
      t.commit(d.full, all_ctas);
    });
  });
  gemm.role("schedule", leader_cta, warp<6>.elect(), [&](Thread t) { t.hand_out(tiles); });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    g.loop(tiles, [&](TilePlace tile) {
      U32 row = tile.row * Mma::M + rank * Mma::a_rows, col = tile.column * Mma::N;
      auto d = acc.wait(g);
      g.loop(Mma::N / DTile::cols, [&](U32 i) {
        auto sums = g.wait(g.load(d.sums.columns<DTile::cols>(i * DTile::cols)));
        auto block = out.acquire(g);
        g.store(block, cvt<bf16>(sums));
        out.publish(g, block, D.at(row, col + i * DTile::cols));
      });
      acc.release(g, d);
    });
  });

  return gemm.build();
}

launch::Contract gemm_v8_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  const std::uint64_t rows = pieces(s.m, Mma::M), columns = pieces(s.n, Mma::N);
  launch::Contract c = gemm_buffers(s);
  launch_kernel(c, kernel, parameter_list, {std::uint32_t(2 * rows * columns), 1, 1},
                "A"_arg = GlobalTensor{"A", s.m, s.k}, "B"_arg = GlobalTensor{"B", s.n, s.k},
                "D"_arg = GlobalTensor{"D", s.m, s.n}, "rows"_arg = rows, "columns"_arg = columns,
                "k_blocks"_arg = pieces(s.k, K));
  return c;
}

}  // namespace kiln::kernels
