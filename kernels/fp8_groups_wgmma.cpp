// Groups of rows in e4m3 on sm_90a, with an f32 for 128 elements of a row of A and one for 128 x 128 elements of B. Two
// warpgroups multiply 64 rows of a tile each, 128 elements along K at a time, and add what they get to sums of their
// own, scaled, while the next block is multiplied. Scales come by TMA too: loads of each lane of its own rows would
// hold up the warpgroups, and the port of shared memory (docs/hopper.md). Rows of tiles are those of a list
// (group_list.hpp).
#include "kernels/by_hand.hpp"

#include <array>

#include "kernels/fp8_scales.hpp"
#include "kernels/group_list.hpp"
#include "kernels/register_block.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int M = 128, N = scaled_block, K = scaled_block, stages = 6;
constexpr int a = 0, b = 1;  // places in a slot
// Scales have a ring of their own, with slots of so many blocks along K.
constexpr int scales_together = 16, scales_pairs = scales_together / 2, scales_stages = 2;
// Registers of a thread that multiplies, with sums and the products of two blocks, and of one of the load role.
constexpr int many_registers = 232, few_registers = 40;

using ATile = SharedTile<e4m3, M, K, K_major, swizzle_128B>;
using BTile = SharedTile<e4m3, N, K, K_major, swizzle_128B>;
using AScales = SharedTile<f32, M, scales_together, K_major, swizzle_64B>;
using BScales = SharedTile<f32, 8, scales_together, K_major, packed>;  // its first row is the tile's
using DTile = SharedTile<bf16, isa::wgmma_m, 64, K_major, swizzle_128B>;
using Sums = SumsFragment<N>;
constexpr int rows_of_lane = 2;
constexpr int row_of(int i) { return Sums::at(0, i).row / 8; }  // of the lane's two, which are 8 apart

constexpr MmaSpec mma = register_mma(kind_f8f6f4, ScalarType::e4m3, M, N);

constexpr auto parameter_list = parameters(
    "A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMapHandle<e4m3, 3>>(), "SFA"_arg.is<TensorMap<AScales>>(),
    "SFB"_arg.is<TensorMap<BScales>>(), "D"_arg.is<TensorMap<DTile>>(), "rows"_arg.is<Pointer<bf16>>(),
    "tiles"_arg.is<Pointer<u32>>(), "count"_arg.is<Pointer<u32>>(), "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

// The scales of a slot that a lane needs. Rows of A's lie swizzled, so that eight lanes with a row each meet no bank
// twice.
class Scales {
 public:
  using OfRows = std::array<F32, rows_of_lane>;
  // `row`: the lane's first, of the tile.
  Scales(Warpgroup& g, const AnySlot& slot, const U32& row)
      : g_(g), of_a_(slot.part(a) + row * row_bytes), of_b_(slot.part(b)), key_(row / 2 % 4) {}
  // What the sums of each row are multiplied by, of blocks `pair * 2` and `pair * 2 + 1` along K.
  std::array<OfRows, 2> of_pair(const U32& pair) {
    constexpr int f32_bytes = 4, pair_bytes = 2 * f32_bytes, piece_bytes = 16;  // a swizzle exchanges pieces
    const U32 piece = apply("xor", pair / 2, key_, nowhere);
    const U32 of_row = of_a_ + piece * piece_bytes + pair % 2 * pair_bytes, of_column = of_b_ + pair * pair_bytes;
    const auto of_block = [&](int i) -> OfRows {
      const auto at = [&](const U32& first, int rows) {
        return g_.ld_shared<f32>(first + (rows * row_bytes + i * f32_bytes));
      };
      const F32 column = at(of_column, 0);
      return {at(of_row, 0) * column, at(of_row, 8) * column};
    };
    return {of_block(0), of_block(1)};
  }

 private:
  static constexpr int row_bytes = scales_together * 4;

  Warpgroup g_;
  U32 of_a_, of_b_, key_;
};

Kernel build(const char* name, Target target) {
  KernelBuilder gemm(name, target, warps<12>);
  gemm.minnctapersm(1);  // its ring takes the shared memory of an SM
  const auto given = declare(gemm, parameter_list);
  const U32 n = given["n"_arg], k_blocks = given["k_blocks"_arg];
  const std::array outs{gemm.store_ring<1, DTile>("out_0"), gemm.store_ring<1, DTile>("out_1")};
  AnyRing in = gemm.ring("in", stages, {ATile::shape.part(), BTile::shape.part()});
  AnyRing scales = gemm.ring("scales", scales_stages, {AScales::shape.part(), BScales::shape.part()});
  const U32 columns = gemm.ceil_div(n, N), chunks = gemm.ceil_div(k_blocks, scales_together);
  const ListedTiles tiles{given["tiles"_arg], given["count"_arg], columns, gemm.ctaid.x, gemm.nctaid.x};

  for (int which : {0, 1}) {
    const auto multiply = [&](Warpgroup& g) {
      g.setmaxnreg_inc<many_registers>();
      AnyRing slots = in.by_mmas();
      StoreRing<1, DTile> out = outs[std::size_t(which)];
      std::vector<RegisterSums> products{RegisterSums(g, mma, which, 1)};  // of even blocks, and of odd ones
      products.push_back(products[0].another());
      tiles.each(g, [&](const ListedTile& tile) {
        constexpr int of_row = isa::wgmma_warp_rows;
        const U32 of_tile = which * DTile::rows + (g.row() / 32) * of_row + Sums::row(g.lane(), 0);
        auto sums = g.vars<Sums::elements>(0.0f);
        const auto multiply_next = [&](int parity) {
          const AnySlot slot = slots.wait(g);
          products[std::size_t(parity)].multiply(slot.tile(a, ATile::shape), slot.tile(b, BTile::shape),
                                                 accumulate(false));
          products[std::size_t(parity)].commit(slot.empty);
        };
        auto scale = g.vars<2 * rows_of_lane>(0.0f);  // of an even block, and of the next one
        const auto load_scales = [&](const AnySlot& slot, const U32& pair) {
          const auto loaded = Scales(g, slot, of_tile).of_pair(pair);
          for (int i = 0; i < 2 * rows_of_lane; ++i)
            scale[i] = loaded[std::size_t(i / rows_of_lane)][std::size_t(i % rows_of_lane)];
        };
        const auto add = [&](int parity) {
          const AnyRegisters of_block = products[std::size_t(parity)].columns(0, 0, N);
          for (int j = 0; j < Sums::elements; ++j)
            sums[j] = fma(of_block.f32(j), scale[parity * rows_of_lane + row_of(j)], sums[j]);
        };
        const auto add_last = [&](int parity) {
          products[std::size_t(parity)].finish();
          add(parity);
        };
        const auto multiply_pairs = [&](const AnySlot& slot, const U32::Operand& count) {
          g.loop(count, [&](const U32& pair) {
            load_scales(slot, pair);
            multiply_next(1);
            add(0);
            multiply_next(0);
            add(1);
          });
        };
        // Of the last one or two blocks nothing follows.
        const auto multiply_all = [&] {
          const U32 pairs = (k_blocks - 1) / 2, left = pairs % scales_pairs;
          multiply_next(0);
          g.loop(pairs / scales_pairs, [&](const U32&) {
            const AnySlot slot = scales.wait(g);
            multiply_pairs(slot, scales_pairs);
            scales.release(g, slot);
          });
          const AnySlot slot = scales.wait(g);
          multiply_pairs(slot, left);
          load_scales(slot, left);
          g.when(
              k_blocks % 2 != 0, [&] { add_last(0); },
              [&] {
                multiply_next(1);
                add(0);
                add_last(1);
              });
          scales.release(g, slot);
        };
        // A warpgroup without rows leaves the tensor core to the other, and gives slots back.
        const auto pass = [&] {
          g.loop(k_blocks, [&](const U32&) { products[0].commit(slots.wait(g).empty); });
          products[0].finish();
          g.loop(chunks, [&](const U32&) { scales.release(g, scales.wait(g)); });
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
    if (which == 0)
      gemm.role("multiply_0", warpgroup<0>, multiply);
    else
      gemm.role("multiply_1", warpgroup<1>, multiply);
  }
  gemm.role("load", warpgroup<2>, [&](Warpgroup& g) {
    g.setmaxnreg_dec<few_registers>();
    g.elect([&](Thread t) {
      tiles.each(t, [&](const ListedTile& tile) {
        t.loop(chunks, [&](const U32& chunk) {
          const U32 before = chunk * scales_together;
          const AnySlot of_scales = scales.acquire(t);
          t.tma_load(of_scales.tile(a, AScales::shape), given["SFA"_arg].at(tile.first, before).any(), of_scales.full);
          t.tma_load(of_scales.tile(b, BScales::shape),
                     given["SFB"_arg].at(tile.group * columns + tile.column, before).any(), of_scales.full);
          t.loop(min(k_blocks - before, scales_together), [&](const U32& block) {
            const U32 k = (before + block) * K;
            const AnySlot slot = in.acquire(t);
            t.tma_load(slot.tile(a, ATile::shape), given["A"_arg].at(tile.first, k).any(), slot.full);
            t.tma_load(BTile::shape.part(), slot.part(b), given["B"_arg].at(k, tile.column * N, tile.group), slot.full);
          });
        });
      });
    });
  });
  return gemm.build();
}

void launch_list(launch::Contract& c, const Kernel& kernel, const Sizes& sizes, const GemmSizes& s,
                 std::uint64_t groups, std::uint64_t rows, std::uint64_t row_tiles) {
  c.expectations.front().width = kernel.sum_width;
  launch_kernel(c, kernel, parameter_list, persistent_grid(sizes, row_tiles * pieces(s.n, N), 1),
                "A"_arg = GlobalTensor{"A", rows, s.k},
                "B"_arg = batched_map(tensor_map<BTile>({"B", s.n, s.k}), groups),
                "SFA"_arg = GlobalTensor{"SFA", rows, scale_pitch(s.k)},
                "SFB"_arg = GlobalTensor{"SFB", groups * pieces(s.n, N), scale_pitch(s.k)},
                "D"_arg = GlobalTensor{"D", rows, s.n}, "rows"_arg = "D", "tiles"_arg = "tiles", "count"_arg = "count",
                "n"_arg = s.n, "k_blocks"_arg = pieces(s.k, K));
}

}  // namespace

Kernel gemm_e4m3_grouped_wgmma(Target target, const Sizes&) { return build("gemm_e4m3_grouped_wgmma", target); }
Kernel gemm_e4m3_masked_wgmma(Target target, const Sizes&) { return build("gemm_e4m3_masked_wgmma", target); }

launch::Contract gemm_e4m3_grouped_wgmma_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t groups = groups_of(sizes);
  const GemmSizes s = gemm_sizes(sizes, scaled_k_multiple);
  launch::Contract c = fp8_grouped_buffers(s, groups);
  launch_list(c, kernel, sizes, s, groups, s.m, add_group_list(c, s.m, groups, M));
  return c;
}

launch::Contract gemm_e4m3_masked_wgmma_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t groups = groups_of(sizes);
  const GemmSizes s = gemm_sizes(sizes, scaled_k_multiple);
  launch::Contract c = fp8_masked_buffers(s, groups);
  launch_list(c, kernel, sizes, s, groups, s.m * groups, add_masked_list(c, s.m, groups, M));
  return c;
}

}  // namespace kiln::kernels
