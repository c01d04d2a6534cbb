// One generator for block-scaled GEMMs with a sparse A: kernels/block_scaled.hpp and kernels/sparse.hpp in one. A scale
// belongs to as many stored elements of A as in a dense GEMM, and to twice as many of B.
#pragma once

#include <string>

#include "kernels/block_scaled.hpp"
#include "kernels/sparse.hpp"

namespace kiln::kernels {

inline constexpr DenseStrategy sparse_scaled_single{dsl::cta_group_1, 128, 128, 3},
    sparse_scaled_pair{dsl::cta_group_2, 128, 128, 5};

/// What is multiplied: as in BlockScaledProblem.
template <dsl::MmaKind kind, class A, class B, class Scale, class D, auto... options>
struct SparseScaledProblem : BlockScaledProblem<kind, A, B, Scale, D, dsl::sparse, options...> {
  static constexpr std::array strategies{sparse_scaled_pair, sparse_scaled_single};
};

/// The types that follow from problem and strategy.
template <class Problem, DenseStrategy s>
struct SparseScaledGemm {
  static constexpr int M = s.rows();
  using Mma = typename Problem::template Mma<M, s.columns, s.group>;
  static constexpr int stored_K = s.slot_bytes * 8 / Problem::A::bits, K = 2 * stored_K;
  static constexpr int steps = K / Mma::K, scales = steps * Mma::scales;  // of a slot; scales of a row
  using ATile = dsl::SharedTile<typename Problem::A, Mma::a_rows, stored_K, dsl::K_major, s.swizzle>;
  using BTile = dsl::SharedTile<typename Problem::B, Mma::b_rows, K, dsl::K_major, s.swizzle>;
  using ETile = dsl::MetadataTile<Mma, steps>;
  using SfaTile = dsl::ScaleTile<typename Problem::Scale, Mma::a_rows, scales>;
  using SfbTile = dsl::ScaleTile<typename Problem::Scale, Mma::N, scales>;
  using E = dsl::SparseMetadata<Mma, steps>;
  using Sfa = dsl::SFA<Mma, steps>;
  using Sfb = dsl::SFB<Mma, steps>;
  using SfbChunks = ScaleChunks<Mma::N>;

  static constexpr rules::Verdict check() {
    constexpr int side_columns = s.stages * (E::columns_held + Sfa::columns_held + Sfb::columns_held);
    return strategy_fits(Mma::check(), s.accumulators * Mma::d_columns + side_columns,
                         dsl::TilePack<ATile, BTile, ETile, SfaTile, SfbTile>::slot_bytes, s.stages);
  }
  using Required = decltype(rules::require<check()>());

  static constexpr auto parameter_list = [] {
    using namespace dsl;
    return parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(),
                      "E"_arg.is<TensorMapHandle<u32, 3>>(), "SFA"_arg.is<TensorMapHandle<u32, 3>>(),
                      "SFB"_arg.is<TensorMapHandle<u32, 3>>(), "D"_arg.is<Pointer<typename Problem::D>>(),
                      "m"_arg.is<u32>(), "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());
  };

  static dsl::Kernel build(const std::string& name, dsl::Target target);
  static launch::Contract problem(const dsl::Kernel& kernel, const dsl::Sizes& sizes);
};

template <class Problem, DenseStrategy s>
dsl::Kernel SparseScaledGemm<Problem, s>::build(const std::string& name, dsl::Target target) {
  using namespace dsl;
  constexpr int a = 0, b = 1, e = 2, sfa = 3, sfb = 4;  // places in a slot
  KernelBuilder gemm(name, target, warps<6>, s.group);
  const auto given = declare(gemm, parameter_list());
  const Result<typename Problem::D> D{given["D"_arg], given["m"_arg], given["n"_arg]};
  const U32 k_blocks = given["k_blocks"_arg];

  auto in = gemm.ring<s.stages, ATile, BTile, ETile, SfaTile, SfbTile>("in");
  auto acc = gemm.accumulator_ring<s.accumulators, Mma>("acc");
  auto metadata = gemm.tensor_memory<s.stages, E>("metadata");  // for each slot: none is written while it is read
  auto scales_a = gemm.tensor_memory<s.stages, Sfa>("sfa");
  auto scales_b = gemm.tensor_memory<s.stages, Sfb>("sfb");
  auto tiles = gemm.tiles(static_schedule, gemm.ceil_div(D.m, M), gemm.ceil_div(D.n, Mma::N));
  U32 rank = gemm.pair_rank();

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace tile) {
      U32 row = tile.row * M + rank * Mma::a_rows, col = tile.column * Mma::N;
      // Rows that are not there are zero, but zeros are no metadata: such rows take that of others.
      U32 image = select(row < D.m, row / Mma::a_rows, 0);
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.acquire(t);
        t.tma_load(slot.template get<a>(), given["A"_arg].at(row, i * stored_K), slot.full);
        t.tma_load(slot.template get<b>(), given["B"_arg].at(col + rank * Mma::b_rows, i * K), slot.full);
        t.tma_load(slot.template get<e>(), given["E"_arg].at(0, i * (ETile::images * image_rows), image), slot.full);
        t.tma_load(slot.template get<sfa>(), given["SFA"_arg].at(0, i * SfaTile::groups, row / 128), slot.full);
        t.tma_load(slot.template get<sfb>(),
                   given["SFB"_arg].at(0, i * SfbTile::groups, SfbChunks::first(tile.column)), slot.full);
      });
    });
  });
  gemm.role("mma", leader_cta, warp<5>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace tile) {
      const auto start = SfbChunks::start(tile.column);
      auto d = acc.acquire(t);
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.wait(t);
        const E kept = metadata.at(slot.stage);
        const Sfa sa = scales_a.at(slot.stage);
        const Sfb chunks = scales_b.at(slot.stage), sb = SfbChunks::of(chunks, start);
        t.copy(kept, slot.template get<e>());
        t.copy(sa, slot.template get<sfa>());
        t.copy(chunks, slot.template get<sfb>());
        for (int k = 0; k < steps; ++k)
          t.mma<Mma>(d.sums, slot.template get<a>().k_slice(k * Mma::a_k), slot.template get<b>().k_slice(k * Mma::K),
                     accumulate(i != 0 || k != 0), kept.at(k), dsl::scales(sa.at(k), sb.at(k)));
        t.commit(slot.empty, all_ctas);
      });
      t.commit(d.full, all_ctas);
    });
  });
  store_tiles(gemm, tiles, acc, D);
  return gemm.build();
}

/// The buffers of both: A (half of K), B, E (the metadata of A), SFA, SFB, D, and the expectation that D is the
/// product. `types.block` and `types.mma_k` count what A stores.
launch::Contract sparse_scaled_buffers(const GemmSizes&, const ScaledTypes& types, std::uint64_t images);

template <class Problem, DenseStrategy s>
launch::Contract SparseScaledGemm<Problem, s>::problem(const dsl::Kernel& kernel, const dsl::Sizes& sizes) {
  using namespace dsl;
  constexpr std::uint32_t block = Mma::a_k / Mma::scales;
  constexpr std::uint64_t elements = row_elements<typename Problem::A, typename Problem::B>;
  const GemmSizes x = gemm_sizes(sizes, 2 * std::max<std::uint64_t>(block, elements));
  launch::Contract c = sparse_scaled_buffers(x,
                                             {Problem::A::scalar, Problem::B::scalar, Problem::Scale::scalar,
                                              Problem::D::scalar, block, Mma::a_k, SfaTile::groups},
                                             ETile::images);
  const launch::TensorMap metadata = metadata_map(c, "E", ETile::images);
  const launch::TensorMap sfa = scale_map(c, "SFA", SfaTile::row_chunks, SfaTile::groups),
                          sfb = scale_map(c, "SFB", SfbTile::row_chunks, SfbTile::groups);
  launch_kernel(c, kernel, parameter_list(), persistent_grid(sizes, M, Mma::N, Mma::ctas),
                "A"_arg = GlobalTensor{"A", x.m, x.k / 2}, "B"_arg = GlobalTensor{"B", x.n, x.k}, "E"_arg = metadata,
                "SFA"_arg = sfa, "SFB"_arg = sfb, "D"_arg = "D", "m"_arg = x.m, "n"_arg = x.n,
                "k_blocks"_arg = pieces(x.k, K));
  return c;
}

}  // namespace kiln::kernels
