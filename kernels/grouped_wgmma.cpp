// Grouped GEMM on sm_90a: rows of A in groups whose sizes the device alone knows, each multiplied by a matrix of its
// own.
//
// gemm_grouped makes a tensor map of each group's rows. Here there is none: rows of the next group that a tile's box
// brings too give rows of sums that are not stored. A list says where each row of tiles lies and how many there are:
// what sorts rows by groups knows it. So no role searches, and no tile without rows is multiplied; a last round for few
// CTAs is of halves of tiles. Two warpgroups multiply 64 rows of a tile each and store them out of their registers:
// blocks that lie in their group by TMA, the last one of a group row by row.
#include "kernels/by_hand.hpp"

#include <string>

#include "kernels/group_list.hpp"
#include "kernels/register_block.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int M = 128, N = 256, K = 64, stages = 4;
constexpr int a = 0, b = 1;  // places in a slot; after b the other half of its rows

using ATile = SharedTile<bf16, M, K, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;
using BHalf = SharedTile<bf16, N / 2, K, K_major, swizzle_128B>;  // what a copy brings
using DTile = SharedTile<bf16, isa::wgmma_m, 64, K_major, swizzle_128B>;

constexpr MmaSpec mma = register_mma(kind_f16, ScalarType::bf16, M, N);

constexpr auto parameter_list =
    parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMapHandle<bf16, 3>>(), "D"_arg.is<TensorMap<DTile>>(),
               "rows"_arg.is<Pointer<bf16>>(), "tiles"_arg.is<Pointer<u32>>(), "count"_arg.is<Pointer<u32>>(),
               "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

constexpr SizeOption hopper_ctas{"ctas", 132, "CTAs at most"};

Kernel listed(const char* name, Target target) {
  KernelBuilder gemm(name, target, warps<9>);
  gemm.minnctapersm(1);  // its ring takes the shared memory of an SM
  const auto given = declare(gemm, parameter_list);
  const U32 n = given["n"_arg], k_blocks = given["k_blocks"_arg];
  const std::array outs{gemm.store_ring<2, DTile>("out_0"), gemm.store_ring<2, DTile>("out_1")};
  AnyRing in = gemm.ring("in", stages, {ATile::shape.part(), BHalf::shape.part(), BHalf::shape.part()});
  const ListedTiles tiles{given["tiles"_arg], given["count"_arg], gemm.ceil_div(n, N), gemm.ctaid.x, gemm.nctaid.x};

  for (int which : {0, 1}) {
    const auto multiply = [&](Warpgroup& g) {
      AnyRing slots = in.by_mmas();
      StoreRing<2, DTile> out = outs[std::size_t(which)];
      RegisterSums sums(g, mma, which, 1);
      const auto work = [&](const ListedTile& tile, const U32& column, const TileShape& b_tile) {
        g.loop(k_blocks, [&](U32 i) {
          const AnySlot slot = slots.wait(g);
          sums.multiply(slot.tile(a, ATile::shape), slot.tile(b, b_tile), i != 0);
          sums.commit(slot.empty);
        });
        sums.finish();
        const ListedResults<DTile> results{given["D"_arg], given["rows"_arg], n};
        for (int c = 0; c < b_tile.rows; c += DTile::cols)
          results.store(g, out, tile, which, column + c, [&](const auto& block) { store_block(g, block, sums, 0, c); });
      };
      tiles.each(
          g, [&](const ListedTile& tile) { work(tile, tile.column * N, BTile::shape); },
          [&](const ListedTile& tile, const U32& half) {
            work(tile, tile.column * N + half * BHalf::rows, BHalf::shape);
          });
      g.elect([&](Thread t) { t.wait_stores_read(0); });  // shared memory outlives the copies that read it
    };
    gemm.role("multiply_" + std::to_string(which), WholeWarpgroup{which}, multiply);
  }
  gemm.role("load", warp<8>.elect(), [&](Thread t) {
    const auto work = [&](const ListedTile& tile, const U32& column, const std::vector<int>& parts) {
      t.loop(k_blocks, [&](U32 i) {
        const AnySlot slot = in.acquire(t, parts);
        t.tma_load(slot.tile(a, ATile::shape), given["A"_arg].at(tile.first, i * K).any(), slot.full);
        for (int part : parts)
          if (part != a)
            t.tma_load(BHalf::shape.part(), slot.part(part),
                       given["B"_arg].at(i * K, column + (part - b) * BHalf::rows, tile.group), slot.full);
      });
    };
    tiles.each(
        t,
        [&](const ListedTile& tile) {
          work(tile, tile.column * N, {a, b, b + 1});
        },
        [&](const ListedTile& tile, const U32& half) {
          work(tile, tile.column * N + half * BHalf::rows, {a, b});
        });
  });
  return gemm.build();
}

// A launch for so many rows of tiles at most. A and D have `rows` rows, of all groups.
void launch_listed(launch::Contract& c, const Kernel& kernel, const Sizes& sizes, std::uint64_t rows,
                   std::uint64_t row_tiles) {
  const GemmSizes s = gemm_sizes(sizes);
  launch_kernel(c, kernel, parameter_list, persistent_grid(sizes, row_tiles * pieces(s.n, N), 1),
                "A"_arg = GlobalTensor{"A", rows, s.k},
                "B"_arg = batched_map(tensor_map<BHalf>({"B", s.n, s.k}), groups_of(sizes)),
                "D"_arg = GlobalTensor{"D", rows, s.n}, "rows"_arg = "D", "tiles"_arg = "tiles", "count"_arg = "count",
                "n"_arg = s.n, "k_blocks"_arg = pieces(s.k, K));
}

}  // namespace

Kernel gemm_grouped_wgmma(Target target, const Sizes&) { return listed("gemm_grouped_wgmma", target); }

launch::Contract gemm_grouped_wgmma_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  const std::uint64_t groups = groups_of(sizes);
  launch::Contract c = gemm_buffers(s);
  c.at("B").shape = {groups, s.n, s.k};
  add_ends(c, s.m, groups);
  launch_listed(c, kernel, sizes, s.m, add_group_list(c, s.m, groups, M));
  return c;
}

Kernel gemm_masked_wgmma(Target target, const Sizes&) { return listed("gemm_masked_wgmma", target); }

launch::Contract gemm_masked_wgmma_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  const std::uint64_t groups = groups_of(sizes);
  launch::Contract c = gemm_buffers(s);
  for (launch::Buffer& b : c.buffers) b = of_each(b, groups);
  add_lengths(c, s.m, groups);
  launch_listed(c, kernel, sizes, groups * s.m, add_masked_list(c, s.m, groups, M));
  return c;
}

std::span<const SizeOption> grouped_wgmma_options() {
  static const auto grouped = grouped_options();
  static const std::array options{grouped[0], grouped[1], grouped[2], grouped[3], hopper_ctas};
  return options;
}

std::span<const SizeOption> masked_wgmma_options() {
  static const auto masked = masked_options();
  static const std::array options{masked[0], masked[1], masked[2], masked[3], hopper_ctas};
  return options;
}

}  // namespace kiln::kernels
