// D[m, n] = the sum over blocks kb of 128 along K of a_scales[m][kb] b_scales[n / 128][kb] A_kb B_kb^T, in e4m3: a
// persistent GEMM of CTA pairs that adds the blocks in registers. Eight warps are the role that does so: each warpgroup
// takes its share of the columns, 64 sums a thread instead of 128.
#include "cookbook.hpp"

namespace cookbook {

using namespace kiln;
using namespace kiln::dsl;

namespace {

using Mma = tcgen05_mma<kind_f8f6f4, e4m3, e4m3, f32, 256, 128, cta_group_2>;
constexpr int K = 128, stages = 6, chunk = 32, half = Mma::N / 2;
using ATile = Mma::ATile<K, K_major, swizzle_128B>;
using BTile = Mma::BTile<K, K_major, swizzle_128B>;
using DTile = SharedTile<bf16, Mma::a_rows, Mma::N, K_major, swizzle_128B>;
constexpr auto list =
    parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(), "D"_arg.is<TensorMap<DTile>>(),
               "a_scales"_arg.is<Pointer<f32>>(), "b_scales"_arg.is<Pointer<f32>>(), "m"_arg.is<u32>(),
               "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

}  // namespace

Kernel block_scaled(Target target, const Sizes&) {
  KernelBuilder gemm("block_scaled", target, warps<10>, cta_group_2);
  gemm.minnctapersm(1);
  const auto given = declare(gemm, list);
  const U32 m = given["m"_arg], n = given["n"_arg], k_blocks = given["k_blocks"_arg];
  auto in = gemm.ring<stages, ATile, BTile>("in");
  auto out = gemm.store_ring<2, DTile>("out");
  auto blocks = gemm.accumulator_ring<4, Mma>("blocks");
  const auto tiles = gemm.tiles(static_schedule.in_groups_of(8), gemm.ceil_div(m, Mma::M), gemm.ceil_div(n, Mma::N));
  const U32 rank = gemm.pair_rank();

  gemm.role("load", warp<8>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace tile) {
      const U32 row = tile.row * Mma::M + rank * Mma::a_rows, column = tile.column * Mma::N + rank * Mma::b_rows;
      t.loop(k_blocks, [&](U32 i) {
        const auto slot = in.acquire(t);
        t.tma_load(slot.get<ATile>(), given["A"_arg].at(row, i * K), slot.full);
        t.tma_load(slot.get<BTile>(), given["B"_arg].at(column, i * K), slot.full);
      });
    });
  });
  gemm.role("multiply", leader_cta, warp<9>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace) {
      t.loop(k_blocks, [&](U32) {
        const auto slot = in.wait(t);
        const auto block = blocks.acquire(t);
        t.mma_tiles<Mma>(block.sums, slot.get<ATile>(), slot.get<BTile>(), accumulate(false));
        t.commit(slot.empty, all_ctas);
        t.commit(block.full, all_ctas);
      });
    });
  });
  gemm.role("promote", warpgroups<0, 2>, [&](Warpgroups<2>& g) {
    g.loop(tiles, [&](TilePlace tile) {
      const U32 row = tile.row * Mma::M + rank * Mma::a_rows, my_row = row + g.row();
      const U64 a_scales = given["a_scales"_arg].at(multiply_wide(select(my_row < m, my_row, 0), k_blocks)),
                b_scales = given["b_scales"_arg].at(multiply_wide(tile.column, k_blocks));
      auto sums = g.vars<half>(0.0f);
      g.loop(k_blocks, [&](U32 i) {
        const U64 at = multiply_wide(i, 4);
        const F32 scale = g.ld_global_f32(a_scales + at) * g.ld_global_f32(b_scales + at);
        const auto block = blocks.wait(g);
        for (int c = 0; c < half; c += chunk) {
          const auto part = g.wait(g.load(g.share(block.sums).columns<chunk>(c)));
          if (c + chunk == half) blocks.release(g, block);
          for (int j = 0; j < chunk; ++j) sums[c + j] = fma(part[j], scale, sums[c + j]);
        }
      });
      const auto d = out.acquire(g);
      g.store(g.share(d), cvt<bf16>(sums.registers()));
      out.publish(g, d, given["D"_arg].at(row, tile.column * Mma::N));
    });
  });
  return gemm.build();
}

launch::Contract block_scaled_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n"), k = sizes.at("k"), k_blocks = (k + K - 1) / K;
  launch::Contract c;
  c.buffers = {buffer("A", e4m3::scalar, {m, k}, normal(1)), buffer("B", e4m3::scalar, {n, k}, normal(2)),
               buffer("D", bf16::scalar, {m, n}), buffer("a_scales", f32::scalar, {m, k_blocks}, uniform(3, 0.5, 2)),
               buffer("b_scales", f32::scalar, {(n + 127) / 128, k_blocks}, uniform(4, 0.5, 2))};
  const std::uint64_t tiles = ((m + Mma::M - 1) / Mma::M) * ((n + Mma::N - 1) / Mma::N);
  launch_kernel(c, kernel, list, {2 * std::uint32_t(std::min(tiles, std::uint64_t(sizes.at("ctas")) / 2)), 1, 1},
                "A"_arg = GlobalTensor{"A", m, k}, "B"_arg = GlobalTensor{"B", n, k}, "D"_arg = GlobalTensor{"D", m, n},
                "a_scales"_arg = "a_scales", "b_scales"_arg = "b_scales", "m"_arg = m, "n"_arg = n,
                "k_blocks"_arg = k_blocks);
  return c;
}

std::span<const SizeOption> block_scaled_options() {
  static constexpr std::array options{SizeOption{"m", 512, "rows"}, SizeOption{"n", 384, "columns"},
                                      SizeOption{"k", 512, "K"}, SizeOption{"ctas", 4, "CTAs, two a pair"}};
  return options;
}

}  // namespace cookbook
