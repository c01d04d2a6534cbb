// Rung 7: tuned. Tiles are walked in bands of eight rows, so that the pairs at work share blocks of A and B in L2; and
// the result leaves through shared memory and TMA, whole lines at a time, while the warps go on. 128 x 32 blocks of D
// keep the epilogue's registers few; the room they take is one slot of the ring.
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

Kernel gemm_v7(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_v7", target, warps<6>, cta_group_2);
  const auto given = declare(gemm, parameter_list);
  const auto& A = given["A"_arg];
  const auto& B = given["B"_arg];
  const auto& D = given["D"_arg];
  const U32 k_blocks = given["k_blocks"_arg];

  auto in = gemm.ring<stages, ATile, BTile>("in");
  auto out = gemm.store_ring<4, DTile>("out");
  auto acc = gemm.accumulator_ring<2, Mma>("acc");
  auto tiles = gemm.tiles(static_schedule.in_groups_of(8), given["rows"_arg], given["columns"_arg]);
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

std::vector<Candidate> gemm_v7_candidates(Target, const Sizes& sizes) {
  launch::Tiling t;
  t.kind = kind_f16;
  t.m = sizes.at("m"), t.n = sizes.at("n"), t.k = sizes.at("k");
  t.rows = Mma::M, t.columns = Mma::N, t.ctas = 2;
  t.slot_k = K, t.mmas = K / Mma::K;
  t.stages = stages, t.accumulators = 2;
  t.slot_bytes = ATile::bytes + BTile::bytes, t.slot_rows = Mma::a_rows + Mma::b_rows;
  t.most_ctas = sizes.at("ctas"), t.rows_together = 8;
  t.store_columns = DTile::cols, t.stores_by_copy = true;
  return {{{}, t}};
}

launch::Contract gemm_v7_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  launch::Contract c = gemm_buffers(s);
  launch_kernel(c, kernel, parameter_list, persistent_grid(sizes, Mma::M, Mma::N, 2),
                "A"_arg = GlobalTensor{"A", s.m, s.k}, "B"_arg = GlobalTensor{"B", s.n, s.k},
                "D"_arg = GlobalTensor{"D", s.m, s.n}, "rows"_arg = pieces(s.m, Mma::M),
                "columns"_arg = pieces(s.n, Mma::N), "k_blocks"_arg = pieces(s.k, K));
  return c;
}

}  // namespace kiln::kernels
