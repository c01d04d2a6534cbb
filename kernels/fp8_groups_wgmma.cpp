// Groups of rows in e4m3 on sm_90a, with an f32 for 128 elements of a row of A and one for 128 x 128 elements of B.
// Three warpgroups multiply 64 rows of a tile each, 128 elements along K at a time, and add what they get to sums of
// their own, scaled, while the others' products are made. Of A the rows of warpgroups that have some are copied, so a
// small group costs little. Copies decide (docs/hopper-steps.md): B, which comes from HBM, is asked for before A, which is in
// L2, and a full tile's rows of A are one box. Scales come by TMA too: loads of each lane of its own rows would hold up
// the warpgroups. Rows of tiles are those of a list (group_list.hpp).
#include "kernels/by_hand.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "kernels/fp8_scales.hpp"
#include "kernels/group_list.hpp"
#include "kernels/register_block.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int warpgroups = 3;
constexpr int M = warpgroups * isa::wgmma_m, N = scaled_block, K = scaled_block, stages = 4;
constexpr int a = 0, b = a + warpgroups;  // places in a slot: each warpgroup's rows of A, and B
// Scales have a ring of their own, with slots of so many blocks along K.
constexpr int scales_together = 8, scales_stages = 2;
constexpr int scales_of_a = 0, scales_of_b = 1;  // places in a slot of theirs
// Registers of a thread that multiplies, with sums and the products of a block, and of one of the load role.
constexpr int many_registers = 160, few_registers = 32;

using ATile = SharedTile<e4m3, isa::wgmma_m, K, K_major, swizzle_128B>;  // a warpgroup's
using AllOfA = SharedTile<e4m3, M, K, K_major, swizzle_128B>;            // those of all warpgroups, one after the other
using BTile = SharedTile<e4m3, N, K, K_major, swizzle_128B>;
using AScales = SharedTile<f32, M, scales_together, K_major, swizzle_32B>;
using BScales = SharedTile<f32, 8, scales_together, K_major, packed>;  // its first row is the tile's
using DTile = SharedTile<bf16, isa::wgmma_m, 64, K_major, swizzle_128B>;
using Sums = SumsFragment<N>;
using Outs = StoreRing<2, DTile>;
constexpr int rows_of_lane = 2;
constexpr int row_of(int i) { return Sums::at(0, i).row / 8; }  // of the lane's two, which are 8 apart

constexpr MmaSpec mma = register_mma(kind_f8f6f4, ScalarType::e4m3, 2 * isa::wgmma_m, N);  // its first 64 rows

constexpr auto parameter_list = parameters("A"_arg.is<TensorMap<ATile>>(), "all_of_A"_arg.is<TensorMap<AllOfA>>(),
                                           "B"_arg.is<TensorMapHandle<e4m3, 3>>(), "SFA"_arg.is<TensorMap<AScales>>(),
                                           "SFB"_arg.is<TensorMap<BScales>>(), "D"_arg.is<TensorMap<DTile>>(),
                                           "rows"_arg.is<Pointer<bf16>>(), "tiles"_arg.is<Pointer<u32>>(),
                                           "count"_arg.is<Pointer<u32>>(), "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

// The scales of a slot that a lane needs. Rows of A's lie swizzled, so that eight lanes with a row each meet no bank
// twice.
class Scales {
 public:
  using OfRows = std::array<F32, rows_of_lane>;
  // `row`: the lane's first, of the tile.
  Scales(Warpgroup& g, const AnySlot& slot, const U32& row)
      : g_(g), of_a_(slot.part(scales_of_a) + row * row_bytes), of_b_(slot.part(scales_of_b)), key_(row / 4 % 2) {}
  // What the products of each row are multiplied by, of a block along K.
  OfRows of_block(const U32& block) {
    constexpr int f32_bytes = 4, piece_bytes = scales_in_piece * f32_bytes;  // a swizzle exchanges pieces
    const U32 piece = apply("xor", block / scales_in_piece, key_, nowhere);
    const U32 of_row = of_a_ + piece * piece_bytes + block % scales_in_piece * f32_bytes;
    const F32 of_column = g_.ld_shared<f32>(of_b_ + block * f32_bytes);
    return {g_.ld_shared<f32>(of_row) * of_column, g_.ld_shared<f32>(of_row + 8 * row_bytes) * of_column};
  }

 private:
  static constexpr int row_bytes = scales_together * 4;

  Warpgroup g_;
  U32 of_a_, of_b_, key_;
};

Kernel build(const char* name, Target target) {
  KernelBuilder gemm(name, target, warps<4 * (warpgroups + 1)>);
  gemm.minnctapersm(1);  // its ring takes the shared memory of an SM
  const auto given = declare(gemm, parameter_list);
  const U32 n = given["n"_arg], k_blocks = given["k_blocks"_arg];
  const std::array<Outs, warpgroups> outs{gemm.store_ring<2, DTile>("out_0"), gemm.store_ring<2, DTile>("out_1"),
                                          gemm.store_ring<2, DTile>("out_2")};
  std::vector parts(warpgroups, ATile::shape.part());
  parts.push_back(BTile::shape.part());
  AnyRing in = gemm.ring("in", stages, parts);
  AnyRing scales = gemm.ring("scales", scales_stages, {AScales::shape.part(), BScales::shape.part()});
  const U32 columns = gemm.ceil_div(n, N), chunks = gemm.ceil_div(k_blocks, scales_together);
  const ListedTiles tiles{given["tiles"_arg], given["count"_arg], columns, gemm.ctaid.x, gemm.nctaid.x};

  for (int which = 0; which < warpgroups; ++which) {
    const auto multiply = [&](Warpgroup& g) {
      g.setmaxnreg_inc<many_registers>();
      AnyRing slots = in.by_mmas();
      Outs out = outs[std::size_t(which)];
      RegisterSums products(g, mma, 0, 1);  // of a block
      tiles.each(g, [&](const ListedTile& tile) {
        const U32 of_tile = which * DTile::rows + (g.row() / 32) * isa::wgmma_warp_rows + Sums::row(g.lane(), 0);
        auto sums = g.vars<Sums::elements>(0.0f);
        auto at = g.var(0u);  // where the next slot begins; its parts lie one after the other
        const auto take = [&](const AnySlot& slot) {
          at = slot.part(a);
          products.commit(slot.empty);
        };
        // The next slot, if there are more, is waited for while this one is multiplied.
        const auto multiply_block = [&](const AnySlot& of_scales, const U32& block, bool more) {
          const U32 slot = at;
          products.multiply({slot + which * ATile::shape.bytes(), ATile::shape},
                            {slot + b * ATile::shape.bytes(), BTile::shape}, accumulate(false));
          const Scales::OfRows scale = Scales(g, of_scales, of_tile).of_block(block);
          std::optional<AnySlot> next;
          if (more) next.emplace(slots.wait(g));
          products.finish();
          if (more) take(*next);
          const AnyRegisters of_block = products.columns(0, 0, N);
          for (int j = 0; j < Sums::elements; ++j)
            sums[j] = fma(of_block.f32(j), scale[std::size_t(row_of(j))], sums[j]);
        };
        const auto multiply_all = [&] {
          const U32 whole = (k_blocks - 1) / scales_together, left = (k_blocks - 1) % scales_together;
          const auto multiply_blocks = [&](const AnySlot& of_scales, const U32::Operand& count) {
            g.loop(count, [&](const U32& block) { multiply_block(of_scales, block, true); });
          };
          take(slots.wait(g));
          g.loop(whole, [&](const U32&) {
            const AnySlot of_scales = scales.wait(g);
            multiply_blocks(of_scales, scales_together);
            scales.release(g, of_scales);
          });
          const AnySlot of_scales = scales.wait(g);
          multiply_blocks(of_scales, left);
          multiply_block(of_scales, left, false);
          scales.release(g, of_scales);
        };
        // A warpgroup without rows leaves the tensor core to the others, and gives slots back.
        const auto pass = [&] {
          g.loop(chunks, [&](const U32& chunk) {
            const AnySlot of_scales = scales.wait(g);
            g.loop(min(k_blocks - chunk * scales_together, scales_together),
                   [&](const U32&) { products.commit(slots.wait(g).empty); });
            scales.release(g, of_scales);
          });
          products.finish();
        };
        if (which == 0)
          multiply_all();
        else
          g.when(tile.rows > which * DTile::rows, multiply_all, pass);
        const ListedResults<DTile> results{given["D"_arg], given["rows"_arg], n};
        for (int c = 0; c < N; c += DTile::cols)
          results.store(g, out, tile, which, tile.column * N + c, [&](const auto& to) {
            store_block(g, to, [&](int column, int count) {
              return converted(make_registers(count / 2, [&](int j) { return sums[(c + column) / 2 + j]; }),
                               element_type<bf16>);
            });
          });
      });
      g.elect([&](Thread t) { t.wait_stores_read(0); });  // shared memory outlives the copies that read it
    };
    gemm.role("multiply_" + std::to_string(which), WholeWarpgroup{which}, multiply);
  }
  gemm.role("load", WholeWarpgroup{warpgroups}, [&](Warpgroup& g) {
    g.setmaxnreg_dec<few_registers>();
    g.elect([&](Thread t) {
      // With the rows of A of so many warpgroups.
      const auto load = [&](const ListedTile& tile, int with_rows) {
        std::vector<int> places{b};
        for (int i = 0; i < with_rows; ++i) places.push_back(a + i);
        t.loop(chunks, [&](const U32& chunk) {
          const U32 before = chunk * scales_together;
          const AnySlot of_scales = scales.acquire(t);
          t.tma_load(of_scales.tile(scales_of_a, AScales::shape), given["SFA"_arg].at(tile.first, before).any(),
                     of_scales.full);
          t.tma_load(of_scales.tile(scales_of_b, BScales::shape),
                     given["SFB"_arg].at(tile.group * columns + tile.column, before).any(), of_scales.full);
          t.loop(min(k_blocks - before, scales_together), [&](const U32& block) {
            const U32 k = (before + block) * K;
            const AnySlot slot = in.acquire(t, places);
            t.tma_load(BTile::shape.part(), slot.part(b), given["B"_arg].at(k, tile.column * N, tile.group), slot.full);
            if (with_rows == warpgroups)
              t.tma_load(slot.tile(a, AllOfA::shape), given["all_of_A"_arg].at(tile.first, k).any(), slot.full);
            else
              for (int i = 0; i < with_rows; ++i)
                t.tma_load(slot.tile(a + i, ATile::shape), given["A"_arg].at(tile.first + i * ATile::rows, k).any(),
                           slot.full);
          });
        });
      };
      tiles.each(t, [&](const ListedTile& tile) {
        const auto load_two_or_fewer = [&] {
          t.when(
              tile.rows > ATile::rows, [&] { load(tile, 2); }, [&] { load(tile, 1); });
        };
        t.when(
            tile.rows > 2 * ATile::rows, [&] { load(tile, warpgroups); }, load_two_or_fewer);
      });
    });
  });
  return gemm.build();
}

void launch_list(launch::Contract& c, const Kernel& kernel, const Sizes& sizes, const GemmSizes& s,
                 std::uint64_t groups, std::uint64_t rows, std::uint64_t row_tiles) {
  c.expectations.front().width = kernel.sum_width;
  launch_kernel(c, kernel, parameter_list, persistent_grid(sizes, row_tiles * pieces(s.n, N), 1),
                "A"_arg = GlobalTensor{"A", rows, s.k}, "all_of_A"_arg = GlobalTensor{"A", rows, s.k},
                "B"_arg = batched_map(tensor_map<BTile>({"B", s.n, s.k}), groups),
                "SFA"_arg = GlobalTensor{"SFA", rows, scale_pitch(s.k)},
                "SFB"_arg = GlobalTensor{"SFB", groups * pieces(s.n, N), scale_pitch(s.k)},
                "D"_arg = GlobalTensor{"D", rows, s.n}, "rows"_arg = "D", "tiles"_arg = "tiles", "count"_arg = "count",
                "n"_arg = s.n, "k_blocks"_arg = pieces(s.k, K));
}

Dealt dealt(const Sizes& sizes, const GemmSizes& s) { return {sizes.at("ctas"), pieces(s.n, N)}; }

}  // namespace

Kernel gemm_e4m3_grouped_wgmma(Target target, const Sizes&) { return build("gemm_e4m3_grouped_wgmma", target); }
Kernel gemm_e4m3_masked_wgmma(Target target, const Sizes&) { return build("gemm_e4m3_masked_wgmma", target); }

launch::Contract gemm_e4m3_grouped_wgmma_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t groups = groups_of(sizes);
  const GemmSizes s = gemm_sizes(sizes, scaled_k_multiple);
  launch::Contract c = fp8_grouped_buffers(s, groups);
  const Dealt how = dealt(sizes, s);
  launch_list(c, kernel, sizes, s, groups, s.m, add_group_list(c, s.m, groups, M, &how));
  return c;
}

launch::Contract gemm_e4m3_masked_wgmma_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t groups = groups_of(sizes);
  const GemmSizes s = gemm_sizes(sizes, scaled_k_multiple);
  launch::Contract c = fp8_masked_buffers(s, groups);
  const Dealt how = dealt(sizes, s);
  launch_list(c, kernel, sizes, s, groups, s.m * groups, add_masked_list(c, s.m, groups, M, &how));
  return c;
}

}  // namespace kiln::kernels
