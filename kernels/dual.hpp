// One generator for the two GEMMs in front of a gated layer: D = silu(A * Gate^T) * (A * Up^T). The plan is that of
// kernels/dense.hpp; each K slice of A meets both others, and stays in the collector buffer between them.
#pragma once

#include <string>
#include <vector>

#include "kernels/dense.hpp"
#include "kernels/epilogues.hpp"

namespace kiln::kernels {

/// Both products' tiles are 128 columns wide, so that two pairs of accumulators fill tensor memory.
inline constexpr DenseStrategy dual_single{dsl::cta_group_1, 128, 128, 4}, dual_pair{dsl::cta_group_2, 128, 128, 6};

/// The types that follow from problem and strategy.
template <class Problem, DenseStrategy s>
struct DualGemm {
  static constexpr int M = s.rows();
  template <int columns>
  using MmaOf =
      dsl::tcgen05_mma<Problem::kind, typename Problem::A, typename Problem::B, dsl::f32, M, columns, s.group>;
  using Mma = MmaOf<s.columns>;
  using Both = MmaOf<2 * s.columns>;  // its accumulator holds those of both products, side by side
  static constexpr int K = s.slot_bytes * 8 / Problem::A::bits;
  using ATile = dsl::SharedTile<typename Problem::A, Mma::a_rows, K, dsl::K_major, s.swizzle>;
  using BTile = dsl::SharedTile<typename Problem::B, Mma::b_rows, K, dsl::K_major, s.swizzle>;

  static constexpr rules::Verdict check() {
    return strategy_fits(Mma::check(), s.accumulators * Both::d_columns,
                         dsl::TilePack<ATile, BTile, BTile>::slot_bytes, s.stages);
  }
  using Required = decltype(rules::require<check()>());

  static constexpr auto parameter_list = [] {
    using namespace dsl;
    return parameters("A"_arg.is<TensorMap<ATile>>(), "Gate"_arg.is<TensorMap<BTile>>(),
                      "Up"_arg.is<TensorMap<BTile>>(), "D"_arg.is<Pointer<typename Problem::D>>(), "m"_arg.is<u32>(),
                      "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());
  };

  static dsl::Kernel build(const std::string& name, dsl::Target target);
  static launch::Contract problem(const dsl::Kernel& kernel, const dsl::Sizes& sizes);
};

/// Joins the halves of a 128-row block of sums and stores what belongs at (row, col) of the result: each thread its
/// row, 32 columns at a time. What lies outside the matrix is left out.
template <class To, int both>
void store_gated(dsl::Warpgroup& g, const dsl::Tmem<dsl::f32, 128, both>& sums, const Result<To>& d,
                 const dsl::U32& row, const dsl::U32& col) {
  constexpr int columns = both / 2, width = 32;
  const dsl::U32 my_row = row + g.row();
  const dsl::U64 address = d.elements.at(multiply_wide(my_row, d.n) + widen(col));
  const dsl::U32 left = left_in_row(d, my_row, col);
  for (int c = 0; c < columns; c += width) {
    const auto gate = g.wait(g.load(sums.template columns<width>(c)));
    const auto up = g.wait(g.load(sums.template columns<width>(columns + c)));
    const auto joined = dsl::make_registers<width>(
        g.recorder(), [&](int i) { return activated<launch::Activation::silu>(gate[i]) * up[i]; });
    g.store_global(address, converted<To>(joined), left, c);
  }
}

template <class Problem, DenseStrategy s>
dsl::Kernel DualGemm<Problem, s>::build(const std::string& name, dsl::Target target) {
  using namespace dsl;
  constexpr int a = 0, gate = 1, up = 2;  // places in a slot
  KernelBuilder gemm(name, target, warps<6>, s.group);
  const auto given = declare(gemm, parameter_list());
  const Result<typename Problem::D> D{given["D"_arg], given["m"_arg], given["n"_arg]};
  const U32 k_blocks = given["k_blocks"_arg];

  auto in = gemm.ring<s.stages, ATile, BTile, BTile>("in");
  auto acc = gemm.accumulator_ring<s.accumulators, Both>("acc");
  auto tiles = gemm.tiles(static_schedule, gemm.ceil_div(D.m, M), gemm.ceil_div(D.n, Mma::N));
  U32 rank = gemm.pair_rank();

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace tile) {
      U32 row = tile.row * M + rank * Mma::a_rows, col = tile.column * Mma::N + rank * Mma::b_rows;
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.acquire(t);
        t.tma_load(slot.template get<a>(), given["A"_arg].at(row, i * K), slot.full);
        t.tma_load(slot.template get<gate>(), given["Gate"_arg].at(col, i * K), slot.full);
        t.tma_load(slot.template get<up>(), given["Up"_arg].at(col, i * K), slot.full);
      });
    });
  });
  gemm.role("mma", leader_cta, warp<5>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace) {
      auto d = acc.acquire(t);
      const auto gates = d.sums.template columns<Mma::d_columns>(0),
                 ups = d.sums.template columns<Mma::d_columns>(Mma::d_columns);
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.wait(t);
        for (int k = 0; k < K; k += Mma::K) {
          const auto of_a = slot.template get<a>().k_slice(k);
          const Pred more = i != 0;
          t.mma<Mma>(gates, of_a, slot.template get<gate>().k_slice(k), accumulate(more || k != 0), collector_a_fill);
          t.mma<Mma>(ups, of_a, slot.template get<up>().k_slice(k), accumulate(more || k != 0), collector_a_lastuse);
        }
        t.commit(slot.empty, all_ctas);
      });
      t.commit(d.full, all_ctas);
    });
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    g.loop(tiles, [&](TilePlace tile) {
      auto sums = acc.wait(g);
      store_gated(g, sums.sums, D, tile.row * M + rank * Mma::a_rows, tile.column * Mma::N);
      acc.release(g, sums);
    });
  });
  return gemm.build();
}

/// Buffers A, Gate, Up (normal random numbers) and D (poison), and the expectation that D is SwiGLU of the products.
launch::Contract dual_buffers(const GemmSizes&, isa::ScalarType a, isa::ScalarType b, isa::ScalarType d);

template <class Problem, DenseStrategy s>
launch::Contract DualGemm<Problem, s>::problem(const dsl::Kernel& kernel, const dsl::Sizes& sizes) {
  using namespace dsl;
  const GemmSizes x = gemm_sizes(sizes, row_elements<typename Problem::A, typename Problem::B>);
  launch::Contract c = dual_buffers(x, Problem::A::scalar, Problem::B::scalar, Problem::D::scalar);
  launch_kernel(c, kernel, parameter_list(), persistent_grid(sizes, M, Mma::N, Mma::ctas),
                "A"_arg = GlobalTensor{"A", x.m, x.k}, "Gate"_arg = GlobalTensor{"Gate", x.n, x.k},
                "Up"_arg = GlobalTensor{"Up", x.n, x.k}, "D"_arg = "D", "m"_arg = x.m, "n"_arg = x.n,
                "k_blocks"_arg = pieces(x.k, K));
  return c;
}

}  // namespace kiln::kernels
