// One generator for GEMMs of the block-scaled kinds: D = (A * SFA) * (B * SFB)^T, where each 16 or 32 elements along K
// share a scale. The plan is that of kernels/dense.hpp; scales travel with the operands, global memory to shared memory
// by TMA, from there to tensor memory by tcgen05.cp, which the MMAs of the same thread follow in order.
#pragma once

#include <numeric>
#include <string>

#include "kernels/dense.hpp"

namespace kiln::kernels {

/// With tiles 128 columns wide two accumulators and the scales of all slots fit tensor memory; with 256 columns, one.
inline constexpr DenseStrategy scaled_single{dsl::cta_group_1, 128, 128, 6}, scaled_pair{dsl::cta_group_2, 128, 128, 7};

/// What is multiplied: the kind of MMA, the element types of A and B, of the scales and of D; `options` of tcgen05_mma,
/// in any order, name the scale vector where the kind has several, and a sparse A. Sums are f32. A problem may have
/// another Epilogue. `strategies` as in DenseProblem.
template <dsl::MmaKind kind, class A_, class B_, class Scale_, class D_, auto... options>
struct BlockScaledProblem {
  using A = A_;
  using B = B_;
  using Scale = Scale_;
  using D = D_;
  using Epilogue = Plain;
  template <int M, int N, dsl::CtaGroup group>
  using Mma = dsl::tcgen05_mma<kind, A, B, dsl::f32, M, N, group, dsl::block_scale<Scale>, options...>;
  static constexpr std::array strategies{scaled_pair, scaled_single};
};

/// Where tiles of N columns find the scales of B, of which a copy brings whole chunks of 128 rows. Tiles of other
/// widths than multiples of that share chunks, and each begins at its own row of the first.
template <int N>
struct ScaleChunks {
  static constexpr int rows = isa::scale_chunk_rows, of_tile = (N + rows - 1) / rows;
  static constexpr bool are_shared = N % rows != 0;
  static constexpr int last_start = rows - std::gcd(N, rows);  // the last row of a chunk that a tile begins with
  static_assert(N % isa::scale_column_rows == 0, "a tile's scales begin with a column of tensor memory");
  static_assert(!are_shared || last_start + N <= of_tile * rows, "a tile's scales lie in the chunks that it loads");

  /// The first chunk of a column of tiles.
  static dsl::U32 first(const dsl::U32& tile) {
    if constexpr (are_shared) return tile * N / rows;
    else return tile * of_tile;
  }
  /// The row of that chunk at which its tiles begin.
  static auto start(const dsl::U32& tile) {
    if constexpr (are_shared) return tile * N % rows;
    else return 0;
  }
  /// The scales of a tile that begins there, from those of its chunks.
  template <class Sfb, class Row>
  static Sfb of(const Sfb& chunks, const Row& start) {
    if constexpr (are_shared) return chunks.from_row(start);
    else return chunks;
  }
};

/// The types that follow from problem and strategy.
template <class Problem, DenseStrategy s>
struct BlockScaledGemm {
  static constexpr int M = s.rows();
  using Mma = typename Problem::template Mma<M, s.columns, s.group>;
  static constexpr int K = s.slot_bytes * 8 / Problem::A::bits;
  static constexpr int steps = K / Mma::K, scales = steps * Mma::scales;  // of a slot; scales of a row
  using ATile = dsl::SharedTile<typename Problem::A, Mma::a_rows, K, dsl::K_major, s.swizzle>;
  using BTile = dsl::SharedTile<typename Problem::B, Mma::b_rows, K, dsl::K_major, s.swizzle>;
  // B's columns are halved between the CTAs of a pair; their scales are not: each needs all.
  using SfaTile = dsl::ScaleTile<typename Problem::Scale, Mma::a_rows, scales>;
  using SfbTile = dsl::ScaleTile<typename Problem::Scale, Mma::N, scales>;
  using Sfa = dsl::SFA<Mma, steps>;
  using Sfb = dsl::SFB<Mma, steps>;
  using SfbChunks = ScaleChunks<Mma::N>;

  static constexpr rules::Verdict check() {
    constexpr int scale_columns = s.stages * (Sfa::columns_held + Sfb::columns_held);
    return strategy_fits(Mma::check(), s.accumulators * Mma::d_columns + scale_columns,
                         dsl::TilePack<ATile, BTile, SfaTile, SfbTile>::slot_bytes, s.stages);
  }
  using Required = decltype(rules::require<check()>());

  static constexpr auto parameter_list = [] {
    using namespace dsl;
    return joined(parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(),
                             "SFA"_arg.is<TensorMapHandle<u32, 3>>(), "SFB"_arg.is<TensorMapHandle<u32, 3>>(),
                             "D"_arg.is<Pointer<typename Problem::D>>(), "m"_arg.is<u32>(), "n"_arg.is<u32>(),
                             "k_blocks"_arg.is<u32>()),
                  Problem::Epilogue::parameter_list());
  };

  static dsl::Kernel build(const std::string& name, dsl::Target target);
  static launch::Contract problem(const dsl::Kernel& kernel, const dsl::Sizes& sizes);
};

template <class Problem, DenseStrategy s>
dsl::Kernel BlockScaledGemm<Problem, s>::build(const std::string& name, dsl::Target target) {
  using namespace dsl;
  constexpr int a = 0, b = 1, sfa = 2, sfb = 3;  // places in a slot
  KernelBuilder gemm(name, target, warps<6>, s.group);
  const auto given = declare(gemm, parameter_list());
  const auto& A = given["A"_arg];
  const auto& B = given["B"_arg];
  const auto& SFA = given["SFA"_arg];
  const auto& SFB = given["SFB"_arg];
  const Result<typename Problem::D> D{given["D"_arg], given["m"_arg], given["n"_arg]};
  const U32 k_blocks = given["k_blocks"_arg];

  auto in = gemm.ring<s.stages, ATile, BTile, SfaTile, SfbTile>("in");
  auto acc = gemm.accumulator_ring<s.accumulators, Mma>("acc");
  auto scales_a = gemm.tensor_memory<s.stages, Sfa>("sfa");  // a block for each slot: none is written while it is read
  auto scales_b = gemm.tensor_memory<s.stages, Sfb>("sfb");
  auto tiles = gemm.tiles(static_schedule, gemm.ceil_div(D.m, M), gemm.ceil_div(D.n, Mma::N));
  U32 rank = gemm.pair_rank();

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace tile) {
      U32 row = tile.row * M + rank * Mma::a_rows, col = tile.column * Mma::N;
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.acquire(t);
        t.tma_load(slot.template get<a>(), A.at(row, i * K), slot.full);
        t.tma_load(slot.template get<b>(), B.at(col + rank * Mma::b_rows, i * K), slot.full);
        t.tma_load(slot.template get<sfa>(), SFA.at(0, i * SfaTile::groups, row / 128), slot.full);
        t.tma_load(slot.template get<sfb>(), SFB.at(0, i * SfbTile::groups, SfbChunks::first(tile.column)), slot.full);
      });
    });
  });
  gemm.role("mma", leader_cta, warp<5>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace tile) {
      const auto start = SfbChunks::start(tile.column);
      auto d = acc.acquire(t);
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.wait(t);
        const Sfa sa = scales_a.at(slot.stage);
        const Sfb chunks = scales_b.at(slot.stage), sb = SfbChunks::of(chunks, start);
        t.copy(sa, slot.template get<sfa>());
        t.copy(chunks, slot.template get<sfb>());
        for (int k = 0; k < steps; ++k)
          t.mma<Mma>(d.sums, slot.template get<a>().k_slice(k * Mma::K), slot.template get<b>().k_slice(k * Mma::K),
                     accumulate(i != 0 || k != 0), dsl::scales(sa.at(k), sb.at(k)));
        t.commit(slot.empty, all_ctas);
      });
      t.commit(d.full, all_ctas);
    });
  });
  store_tiles(gemm, tiles, acc, D, Problem::Epilogue::device(given));
  return gemm.build();
}

/// What the buffers of a block-scaled problem hold: element types, elements that share a scale, K of an MMA, and the
/// chunks of scales along K that a slot takes.
struct ScaledTypes {
  isa::ScalarType a, b, scale, d;
  std::uint32_t block, mma_k;
  std::uint64_t chunks;
};
/// Buffers A, B, SFA, SFB (normal random numbers, quantised) and D (poison), and the expectation that D is the product.
/// Scales are padded to whole slots.
launch::Contract scaled_buffers(const GemmSizes&, const ScaledTypes&);
/// A contract's scales as TMA sees them: words of a chunk, chunks along K, chunks of rows; a box of the chunks that one
/// slot takes.
launch::TensorMap scale_map(const launch::Contract&, const std::string& buffer, std::uint32_t row_chunks,
                            std::uint32_t k_chunks);

template <class Problem, DenseStrategy s>
launch::Contract BlockScaledGemm<Problem, s>::problem(const dsl::Kernel& kernel, const dsl::Sizes& sizes) {
  using namespace dsl;
  constexpr std::uint32_t block = Mma::K / Mma::scales;
  constexpr std::uint64_t elements = row_elements<typename Problem::A, typename Problem::B>;
  const GemmSizes x = gemm_sizes(sizes, std::max<std::uint64_t>(block, elements));
  launch::Contract c = scaled_buffers(x, {Problem::A::scalar, Problem::B::scalar, Problem::Scale::scalar,
                                          Problem::D::scalar, block, Mma::K, SfaTile::groups});
  const launch::TensorMap sfa = scale_map(c, "SFA", SfaTile::row_chunks, SfaTile::groups),
                          sfb = scale_map(c, "SFB", SfbTile::row_chunks, SfbTile::groups);
  Problem::Epilogue::describe(c, x);
  Problem::Epilogue::arguments([&](auto... epilogue) {
    launch_kernel(c, kernel, parameter_list(), persistent_grid(sizes, M, Mma::N, Mma::ctas),
                  "A"_arg = GlobalTensor{"A", x.m, x.k}, "B"_arg = GlobalTensor{"B", x.n, x.k}, "SFA"_arg = sfa,
                  "SFB"_arg = sfb, "D"_arg = "D", "m"_arg = x.m, "n"_arg = x.n, "k_blocks"_arg = pieces(x.k, K),
                  epilogue...);
  });
  return c;
}

}  // namespace kiln::kernels
