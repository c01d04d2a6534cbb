// Groups of rows in e4m3 on sm_90a, with an f32 for 128 elements of a row of A and one for 128 x 128 elements of B. Two
// warpgroups multiply 64 rows of a tile each, 128 elements along K at a time, and add what they get to sums of their
// own, scaled, while the next block is multiplied. Scales are loaded a block before they are needed. Rows of tiles are
// those of a list (group_list.hpp).
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
// Registers of a thread that multiplies, with sums and the products of two blocks, and of one of the load role.
constexpr int many_registers = 240, few_registers = 24;

using ATile = SharedTile<e4m3, M, K, K_major, swizzle_128B>;
using BTile = SharedTile<e4m3, N, K, K_major, swizzle_128B>;
using DTile = SharedTile<bf16, isa::wgmma_m, 64, K_major, swizzle_128B>;
using Sums = SumsFragment<N>;
constexpr int rows_of_lane = 2;
constexpr int row_of(int i) { return Sums::at(0, i).row / 8; }  // of the lane's two, which are 8 apart

constexpr MmaSpec mma = register_mma(kind_f8f6f4, ScalarType::e4m3, M, N);

constexpr auto parameter_list =
    parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMapHandle<e4m3, 3>>(), "SFA"_arg.is<Pointer<f32>>(),
               "SFB"_arg.is<Pointer<f32>>(), "D"_arg.is<TensorMap<DTile>>(), "rows"_arg.is<Pointer<bf16>>(),
               "tiles"_arg.is<Pointer<u32>>(), "count"_arg.is<Pointer<u32>>(), "n"_arg.is<u32>(),
               "k_blocks"_arg.is<u32>());

// A lane's scales: of A's rows of its sums, and of B. Those of the next block are loaded while this one is multiplied.
class Scales {
 public:
  Scales(Warpgroup& g, const U32& blocks, const std::array<U64, rows_of_lane + 1>& first)
      : g_(g), blocks_(blocks), first_(first), next_(g.vars<rows_of_lane + 1>(0.0f)) {
    for (int i = 0; i <= rows_of_lane; ++i) next_[i] = g.ld_global_f32(first[std::size_t(i)]);
  }
  // Of a block: what the sums of each row are multiplied by.
  std::array<F32, rows_of_lane> take(const U32& block) {
    const std::array scales{next_[0] * next_[rows_of_lane], next_[1] * next_[rows_of_lane]};
    const U64 next = multiply_wide(min(block + 1, blocks_ - 1), 4);
    for (int i = 0; i <= rows_of_lane; ++i) next_[i] = g_.ld_global_f32(first_[std::size_t(i)] + next);
    return scales;
  }

 private:
  Warpgroup g_;
  U32 blocks_;
  std::array<U64, rows_of_lane + 1> first_;
  Vars<F32, rows_of_lane + 1> next_;
};

Kernel build(const char* name, Target target) {
  KernelBuilder gemm(name, target, warps<12>);
  gemm.minnctapersm(1);  // its ring takes the shared memory of an SM
  const auto given = declare(gemm, parameter_list);
  const U32 n = given["n"_arg], k_blocks = given["k_blocks"_arg];
  const std::array outs{gemm.store_ring<2, DTile>("out_0"), gemm.store_ring<2, DTile>("out_1")};
  AnyRing in = gemm.ring("in", stages, {ATile::shape.part(), BTile::shape.part()});
  const U32 columns = gemm.ceil_div(n, N);
  const ListedTiles tiles{given["tiles"_arg], given["count"_arg], columns, gemm.ctaid.x, gemm.nctaid.x};

  for (int which : {0, 1}) {
    const auto multiply = [&](Warpgroup& g) {
      g.setmaxnreg_inc<many_registers>();
      AnyRing slots = in.by_mmas();
      StoreRing<2, DTile> out = outs[std::size_t(which)];
      std::vector<RegisterSums> products{RegisterSums(g, mma, which, 1)};  // of even blocks, and of odd ones
      products.push_back(products[0].another());
      tiles.each(g, [&](const ListedTile& tile) {
        constexpr int of_row = isa::wgmma_warp_rows;
        const U32 of_tile = which * DTile::rows + (g.row() / 32) * of_row + Sums::row(g.lane(), 0);
        const auto scales_of_row = [&](int r) {
          const U32 row = of_tile + 8 * r;
          return given["SFA"_arg].at(multiply_wide(tile.first + select(row < tile.rows, row, 0), k_blocks));
        };
        Scales scales(g, k_blocks, {scales_of_row(0), scales_of_row(1),
                                    given["SFB"_arg].at(multiply_wide(tile.group * columns + tile.column, k_blocks))});
        auto sums = g.vars<Sums::elements>(0.0f);
        const auto multiply_next = [&](int parity) {
          const AnySlot slot = slots.wait(g);
          products[std::size_t(parity)].multiply(slot.tile(a, ATile::shape), slot.tile(b, BTile::shape),
                                                 accumulate(false));
          products[std::size_t(parity)].commit(slot.empty);
        };
        const auto add = [&](const U32& block, int parity) {
          const auto scale = scales.take(block);
          const AnyRegisters of_block = products[std::size_t(parity)].columns(0, 0, N);
          for (int j = 0; j < Sums::elements; ++j)
            sums[j] = fma(of_block.f32(j), scale[std::size_t(row_of(j))], sums[j]);
        };
        const auto add_last = [&](int parity) {
          products[std::size_t(parity)].finish();
          add(k_blocks - 1, parity);
        };
        multiply_next(0);
        g.loop((k_blocks - 1) / 2, [&](U32 two) {
          multiply_next(1);
          add(two * 2, 0);
          multiply_next(0);
          add(two * 2 + 1, 1);
        });
        g.when(
            k_blocks % 2 != 0, [&] { add_last(0); },
            [&] {
              multiply_next(1);
              add(k_blocks - 2, 0);
              add_last(1);
            });
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
    if (which == 0) gemm.role("multiply_0", warpgroup<0>, multiply);
    else gemm.role("multiply_1", warpgroup<1>, multiply);
  }
  gemm.role("load", warpgroup<2>, [&](Warpgroup& g) {
    g.setmaxnreg_dec<few_registers>();
    g.elect([&](Thread t) {
      tiles.each(t, [&](const ListedTile& tile) {
        t.loop(k_blocks, [&](U32 i) {
          const AnySlot slot = in.acquire(t);
          t.tma_load(slot.tile(a, ATile::shape), given["A"_arg].at(tile.first, i * K).any(), slot.full);
          t.tma_load(BTile::shape.part(), slot.part(b), given["B"_arg].at(i * K, tile.column * N, tile.group),
                     slot.full);
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
                "B"_arg = batched_map(tensor_map<BTile>({"B", s.n, s.k}), groups), "SFA"_arg = "SFA",
                "SFB"_arg = "SFB", "D"_arg = GlobalTensor{"D", rows, s.n}, "rows"_arg = "D", "tiles"_arg = "tiles",
                "count"_arg = "count", "n"_arg = s.n, "k_blocks"_arg = pieces(s.k, K));
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
