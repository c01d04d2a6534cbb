// D = (A * B^T) / sqrt(mean of the squares of A's row + epsilon) in bf16: what an RMSNorm and the product after it are,
// where the norm's weights are factors of B's columns. A warpgroup reads the tiles of A out of the slots that the MMAs
// read, and adds up the squares of its rows; the factor of each row is handed to the warps that store by a ring of its
// own, for a tile that is stored while the next is multiplied.
#include "kernels/by_hand.hpp"

#include "kernels/epilogue.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int M = 128, N = 256, K = 64, stages = 4, width = 32;
constexpr float epsilon = 1e-5f;
using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, M, N>;
using ATile = SharedTile<bf16, M, K, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;
using Factors = SharedTile<f32, M, 4, K_major, swizzle_none>;  // a row's, four times

constexpr auto parameter_list =
    parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(), "D"_arg.is<Pointer<bf16>>(),
               "m"_arg.is<u32>(), "n"_arg.is<u32>(), "k"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

// What a row of a slot adds to a sum of squares, element after element.
F32 with_squares(const Registers<bf16, K>& row, const F32& sum) {
  const auto values = widen(row);
  std::vector<F32> sums{sum};
  for (int i = 0; i < K; ++i) sums.push_back(fma(values[i], values[i], sums.back()));
  return sums.back();
}

}  // namespace

Kernel gemm_bf16_norm(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_bf16_norm", target, warps<10>);
  gemm.minnctapersm(1);  // its ring takes the shared memory of an SM
  const auto given = declare(gemm, parameter_list);
  const U32 k_blocks = given["k_blocks"_arg];
  const Result D{given["D"_arg], given["m"_arg], given["n"_arg]};
  auto in = gemm.ring<stages, ATile, BTile>("in");
  auto factors = gemm.ring<2, Factors>("factors");
  auto acc = gemm.accumulator_ring<2, Mma>("acc");
  auto tiles = gemm.tiles(static_schedule.in_groups_of(8), gemm.ceil_div(D.m, M), gemm.ceil_div(D.n, N));

  gemm.role("load", warp<8>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace tile) {
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.acquire(t);
        t.tma_load(slot.get<ATile>(), given["A"_arg].at(tile.row * M, i * K), slot.full);
        t.tma_load(slot.get<BTile>(), given["B"_arg].at(tile.column * N, i * K), slot.full);
      });
    });
  });
  gemm.role("mma", warp<9>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace) {
      auto d = acc.acquire(t);
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.wait(t);
        t.mma_tiles<Mma>(d.sums, slot.get<ATile>(), slot.get<BTile>(), accumulate(i != 0));
        t.commit(slot.empty);
      });
      t.commit(d.full);
    });
  });
  gemm.role("norm", warpgroup<1>, [&](Warpgroup& g) {
    g.loop(tiles, [&](TilePlace) {
      auto squares = g.var(0.0f);
      g.loop(k_blocks, [&](U32) {
        auto slot = in.wait(g);
        const auto row = g.load(slot.get<ATile>());
        in.release(g, slot);
        squares = with_squares(row, squares);
      });
      const F32 factor = rsqrt_approx_ftz(squares / convert<F32>(given["k"_arg]) + epsilon);
      auto to = factors.acquire(g);
      g.store(to.get<Factors>(), make_registers<4>([&](int) { return factor; }));
      factors.publish(g, to);
    });
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    g.loop(tiles, [&](TilePlace tile) {
      const auto from = factors.wait(g);
      const F32 factor = g.load(from.get<Factors>())[0];
      factors.release(g, from);
      const auto sums = acc.wait(g);
      const RowStep scaled = [&](const RowPlace& row) -> StoreColumns {
        return [=](Warpgroup& g, const AnyTmem& of, int column) {
          const AnyRegisters loaded = g.wait(g.load(of.columns(column, width)));
          const AnyRegisters scaled = make_registers(width, [&](int i) { return loaded.f32(i) * factor; });
          g.store_global(row.address, converted(scaled, element_type<bf16>), row.left, column);
        };
      };
      store_rows(g, sums.sums.any(), N, D, tile.row * M, tile.column * N, scaled, width);
      acc.release(g, sums);
    });
  });
  return gemm.build();
}

launch::Contract gemm_bf16_norm_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  launch::Contract c = gemm_buffers(s);
  c.expectations.front().norm = epsilon;
  launch_kernel(c, kernel, parameter_list, persistent_grid(sizes, M, N, 1), "A"_arg = GlobalTensor{"A", s.m, s.k},
                "B"_arg = GlobalTensor{"B", s.n, s.k}, "D"_arg = "D", "m"_arg = s.m, "n"_arg = s.n, "k"_arg = s.k,
                "k_blocks"_arg = pieces(s.k, K));
  return c;
}

}  // namespace kiln::kernels
