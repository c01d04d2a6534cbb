// D = A B^T in bf16 by pairs of CTAs that share 256 x 256 tiles. The grid has a pair for every tile; those that run
// take over the tiles of those that have not started, and multiply one tile while the last one is stored.
#include "cookbook.hpp"

namespace cookbook {

using namespace kiln;
using namespace kiln::dsl;

namespace {

using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, 256, 256, cta_group_2>;
constexpr int K = 64, stages = 5, block = 64;
using ATile = Mma::ATile<K, K_major, swizzle_128B>;  // 128 rows: each CTA loads half of A, and half of B
using BTile = Mma::BTile<K, K_major, swizzle_128B>;
using DTile = SharedTile<bf16, Mma::a_rows, block, K_major, swizzle_128B>;
constexpr auto list =
    parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(), "D"_arg.is<TensorMap<DTile>>(),
               "m"_arg.is<u32>(), "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

}  // namespace

Kernel pair(Target target, const Sizes&) {
  KernelBuilder gemm("pair", target, warps<7>, cta_group_2);
  gemm.minnctapersm(1);
  const auto given = declare(gemm, list);
  const U32 k_blocks = given["k_blocks"_arg];
  auto in = gemm.ring<stages, ATile, BTile>("in");
  auto acc = gemm.accumulator_ring<2, Mma>("acc");
  auto out = gemm.store_ring<2, DTile>("out");
  const auto tiles =
      gemm.tiles(launch_control, gemm.ceil_div(given["m"_arg], Mma::M), gemm.ceil_div(given["n"_arg], Mma::N));
  const U32 rank = gemm.pair_rank();

  gemm.role("schedule", leader_cta, warp<6>.elect(), [&](Thread t) { t.hand_out(tiles); });
  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace tile) {
      const U32 row = tile.row * Mma::M + rank * Mma::a_rows, column = tile.column * Mma::N + rank * Mma::b_rows;
      t.loop(k_blocks, [&](U32 i) {
        const auto slot = in.acquire(t);
        t.tma_load(slot.get<0>(), given["A"_arg].at(row, i * K), slot.full);
        t.tma_load(slot.get<1>(), given["B"_arg].at(column, i * K), slot.full);
      });
    });
  });
  gemm.role("multiply", leader_cta, warp<5>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace) {
      const auto d = acc.acquire(t);
      t.loop(k_blocks, [&](U32 i) {
        const auto slot = in.wait(t);
        t.mma_tiles<Mma>(d.sums, slot.get<0>(), slot.get<1>(), accumulate(i != 0));
        t.commit(slot.empty, all_ctas);
      });
      t.commit(d.full, all_ctas);
    });
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    g.loop(tiles, [&](TilePlace tile) {
      const U32 row = tile.row * Mma::M + rank * Mma::a_rows, column = tile.column * Mma::N;
      const auto d = acc.wait(g);
      for (int c = 0; c < Mma::N; c += block) {
        const auto sums = g.wait(g.load(d.sums.columns<block>(c)));
        if (c + block == Mma::N) acc.release(g, d);
        const auto part = out.acquire(g);
        g.store(part, cvt<bf16>(sums));
        out.publish(g, part, given["D"_arg].at(row, column + c));
      }
    });
  });
  return gemm.build();
}

launch::Contract pair_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n"), k = sizes.at("k");
  launch::Contract c;
  c.buffers = {buffer("A", bf16::scalar, {m, k}, normal(1)), buffer("B", bf16::scalar, {n, k}, normal(2)),
               buffer("D", bf16::scalar, {m, n})};
  const std::uint64_t tiles = ((m + Mma::M - 1) / Mma::M) * ((n + Mma::N - 1) / Mma::N);
  launch_kernel(c, kernel, list, {2 * std::uint32_t(tiles), 1, 1}, "A"_arg = GlobalTensor{"A", m, k},
                "B"_arg = GlobalTensor{"B", n, k}, "D"_arg = GlobalTensor{"D", m, n}, "m"_arg = m, "n"_arg = n,
                "k_blocks"_arg = (k + K - 1) / K);
  launch::Expectation gemm;
  gemm.output = "D";
  gemm.a = "A";
  gemm.b = "B";
  c.expectations = {gemm};
  return c;
}

std::span<const SizeOption> pair_options() {
  static constexpr std::array options{SizeOption{"m", 512, "rows"}, SizeOption{"n", 512, "columns"},
                                      SizeOption{"k", 256, "K"}};
  return options;
}

}  // namespace cookbook
