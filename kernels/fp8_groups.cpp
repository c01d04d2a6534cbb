// Groups of rows in e4m3 with f32 scales, one for 128 elements of a row of A and one for 128 x 128 elements of B: the
// tensor core sums up a block of 128 along K, sixteen warps scale the sums and add them in registers, two neighbours at
// a time, each warpgroup a quarter of the columns. Scales are loaded before they are needed, those of four blocks.
// Groups follow one another, or have room of their own, as in kernels/grouped.cpp.
#include "kernels/by_hand.hpp"

#include "kernels/fp8_scales.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int M = 128, N = scaled_block, K = scaled_block, stages = 6, accumulators = 4;
constexpr int a = 0, b = 1;  // places in a slot
using Mma = tcgen05_mma<kind_f8f6f4, e4m3, e4m3, f32, M, N>;
using ATile = Mma::ATile<K, K_major, swizzle_128B>;
using BTile = Mma::BTile<K, K_major, swizzle_128B>;
using MatricesMap = TensorMapHandle<e4m3, 3>;
constexpr int promoters = 4;  // warpgroups
using Promoters = Warpgroups<promoters>;
constexpr int load_warp = promoters * isa::warps_per_warpgroup, multiply_warp = load_warp + 1;

constexpr auto grouped_list =
    parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<MatricesMap>(), "SFA"_arg.is<Pointer<f32>>(),
               "SFB"_arg.is<Pointer<f32>>(), "D"_arg.is<Pointer<bf16>>(), "ends"_arg.is<Pointer<u32>>(),
               "groups"_arg.is<u32>(), "row_tiles"_arg.is<u32>(), "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());
constexpr auto masked_list =
    parameters("A"_arg.is<MatricesMap>(), "B"_arg.is<MatricesMap>(), "SFA"_arg.is<Pointer<f32>>(),
               "SFB"_arg.is<Pointer<f32>>(), "D"_arg.is<Pointer<bf16>>(), "lengths"_arg.is<Pointer<u32>>(),
               "m"_arg.is<u32>(), "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

// Where a thread's row of a tile lies: of all rows, and whether it is there; the tile's columns and scales of B.
struct Place {
  U32 row;
  Pred is_there;
  U32 column;
  U32 scales_of_b;  // which row of them
};

// The slots, the sums of blocks, and what becomes of both for a tile.
struct Blocks {
  Ring<stages, ATile, BTile> in;
  AccumulatorRing<accumulators, Mma> sums;
  U32 k_blocks, n;
  Pointer<f32> sfa, sfb;
  Pointer<bf16> d;

  template <class Given>
  Blocks(KernelBuilder& gemm, const Given& given)
      : in(gemm.ring<stages, ATile, BTile>("in")),
        sums(gemm.accumulator_ring<accumulators, Mma>("blocks")),
        k_blocks(given["k_blocks"_arg]),
        n(given["n"_arg]),
        sfa(given["SFA"_arg]),
        sfb(given["SFB"_arg]),
        d(given["D"_arg]) {}

  void multiply(Thread& t) {
    t.loop(k_blocks, [&](U32) {
      const auto slot = in.wait(t);
      const auto block = sums.acquire(t);
      t.mma_tiles<Mma>(block.sums, slot.get<a>(), slot.get<b>(), accumulate(false));
      t.commit(slot.empty);
      t.commit(block.full);
    });
  }

  // Scales come 16 bytes at a time: a lane's are in a line of their own.
  void promote(Promoters& g, const Place& at) {
    constexpr int share = N / promoters;
    const U64 of_a = sfa.at(multiply_wide(select(at.is_there, at.row, 0), scale_pitch(k_blocks))),
              of_b = sfb.at(multiply_wide(at.scales_of_b, scale_pitch(k_blocks)));
    const U32 quads = scale_pitch(k_blocks) / scales_in_piece;
    auto next_a = g.vars<scales_in_piece>(0.0f), next_b = g.vars<scales_in_piece>(0.0f);
    const auto load_scales = [&](const U64& a, const U64& b) {
      const auto of_row = g.ld_global_v4_f32(a), of_column = g.ld_global_v4_f32(b);
      for (int i = 0; i < scales_in_piece; ++i) next_a[i] = of_row[i], next_b[i] = of_column[i];
    };
    const F32 zero = g.var(0.0f);
    auto total = g.vars<share / 2>(pack<F32x2>(zero, zero));  // two neighbours each
    load_scales(of_a, of_b);
    auto scales = g.vars<scales_in_piece>(0.0f);  // of the blocks to come, the next one's first
    g.loop(k_blocks, [&](U32 block) {
      g.when(block % scales_in_piece == 0, [&] {
        for (int i = 0; i < scales_in_piece; ++i) scales[i] = next_a[i] * next_b[i];
        const U32 quad = min(block / scales_in_piece + 1, quads - 1);
        const U64 next = multiply_wide(quad, scales_in_piece * isa::bits(ScalarType::f32) / 8);
        load_scales(of_a + next, of_b + next);
      });
      const F32x2 scale = pack<F32x2>(scales[0], scales[0]);
      for (int i = 1; i < scales_in_piece; ++i) scales[i - 1] = scales[i];
      const auto of_block = sums.wait(g);
      const auto part = g.wait(g.load(g.share(of_block.sums)));
      sums.release(g, of_block);
      for (int j = 0; j < share; j += 2)
        total[j / 2] = fma(pack<F32x2>(part[j], part[j + 1]), scale, total[j / 2].read());
    });
    const U32 column = at.column + g.share<N>();
    const U32 left = select(at.is_there, select(column < n, n - column, 0), 0);
    const auto sum = [&](int j) { return unpack(total[j / 2].read())[std::size_t(j % 2)]; };
    g.store_global(d.at(multiply_wide(at.row, n) + widen(column)), cvt<bf16>(make_registers<share>(sum)), left);
  }
};

}  // namespace

Kernel gemm_e4m3_grouped(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_e4m3_grouped", target, warps<multiply_warp + 1>);
  gemm.minnctapersm(1);  // its ring takes the shared memory of an SM
  const auto given = declare(gemm, grouped_list);
  const Groups groups{given["ends"_arg], given["groups"_arg]};
  Blocks blocks(gemm, given);
  const U32 column_tiles = gemm.ceil_div(blocks.n, N);
  // Columns first: a CTA comes to the groups in their order.
  auto tiles = gemm.tiles(static_schedule, column_tiles, given["row_tiles"_arg]);

  gemm.role("load", warp<load_warp>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace tile) {
      const Groups::Tile at = groups.tile(t, tile.column, M);
      t.loop(blocks.k_blocks, [&](U32 i) {
        const auto slot = blocks.in.acquire(t);
        t.tma_load(slot.get<a>(), given["A"_arg].at(at.first + at.row, i * K), slot.full);
        t.tma_load(slot.get<b>(), given["B"_arg].at(i * K, tile.row * N, at.group), slot.full);
      });
    });
  });
  gemm.role("multiply", warp<multiply_warp>.elect(),
            [&](Thread t) { t.loop(tiles, [&](TilePlace) { blocks.multiply(t); }); });
  gemm.role("promote", warpgroups<0, promoters>, [&](Promoters& g) {
    g.loop(tiles, [&](TilePlace tile) {
      const Groups::Tile at = groups.tile(g, tile.column, M);
      const U32 in_group = at.row + g.row();
      blocks.promote(g, {at.first + in_group, in_group < at.rows, tile.row * N, at.group * column_tiles + tile.row});
    });
  });
  return gemm.build();
}

Kernel gemm_e4m3_masked(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_e4m3_masked", target, warps<multiply_warp + 1>);
  gemm.minnctapersm(1);
  const auto given = declare(gemm, masked_list);
  Blocks blocks(gemm, given);
  const U32 column = gemm.ctaid.x, row = gemm.ctaid.y, group = gemm.ctaid.z;  // of tiles
  const auto rows_of = [&](auto& scope) { return rows_or_exit(scope, given["lengths"_arg], group, row * M); };

  gemm.role("load", warp<load_warp>.elect(), [&](Thread t) {
    (void)rows_of(t);
    t.loop(blocks.k_blocks, [&](U32 i) {
      const auto slot = blocks.in.acquire(t);
      t.tma_load(slot.get<a>(), given["A"_arg].at(i * K, row * M, group), slot.full);
      t.tma_load(slot.get<b>(), given["B"_arg].at(i * K, column * N, group), slot.full);
    });
  });
  gemm.role("multiply", warp<multiply_warp>.elect(), [&](Thread t) {
    (void)rows_of(t);
    blocks.multiply(t);
  });
  gemm.role("promote", warpgroups<0, promoters>, [&](Promoters& g) {
    const U32 rows = rows_of(g), in_group = row * M + g.row();
    blocks.promote(g, {group * given["m"_arg] + in_group, in_group < rows, column * N, group * gemm.nctaid.x + column});
  });
  return gemm.build();
}

launch::Contract gemm_e4m3_grouped_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes, scaled_k_multiple);
  const std::uint64_t groups = groups_of(sizes), row_tiles = most_row_tiles(s.m, groups, M);
  launch::Contract c = fp8_grouped_buffers(s, groups);
  const launch::Dim3 grid = persistent_grid(sizes, row_tiles * pieces(s.n, N), 1);
  launch_kernel(c, kernel, grouped_list, grid, "A"_arg = GlobalTensor{"A", s.m, s.k},
                "B"_arg = batched_map(tensor_map<BTile>({"B", s.n, s.k}), groups), "SFA"_arg = "SFA", "SFB"_arg = "SFB",
                "D"_arg = "D", "ends"_arg = "ends", "groups"_arg = groups, "row_tiles"_arg = row_tiles, "n"_arg = s.n,
                "k_blocks"_arg = pieces(s.k, K));
  return c;
}

launch::Contract gemm_e4m3_masked_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes, scaled_k_multiple);
  const std::uint64_t groups = groups_of(sizes);
  launch::Contract c = fp8_masked_buffers(s, groups);
  launch_kernel(c, kernel, masked_list, masked_grid(s, groups, M, N),
                "A"_arg = batched_map(tensor_map<ATile>({"A", s.m, s.k}), groups),
                "B"_arg = batched_map(tensor_map<BTile>({"B", s.n, s.k}), groups), "SFA"_arg = "SFA", "SFB"_arg = "SFB",
                "D"_arg = "D", "lengths"_arg = "lengths", "m"_arg = s.m, "n"_arg = s.n,
                "k_blocks"_arg = pieces(s.k, K));
  return c;
}

}  // namespace kiln::kernels
