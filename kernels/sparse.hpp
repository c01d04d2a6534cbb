// One generator for GEMMs with a sparse A: D = A * B^T, where of each 4 (tf32: 2; packed e2m1: 8) neighbours in a row
// of A half are kept. The plan is that of kernels/dense.hpp; what was kept, the metadata, travels with the operands,
// global memory to shared memory by TMA, from there to tensor memory by tcgen05.cp, which the MMAs of the same thread
// follow in order.
#pragma once

#include <string>

#include "kernels/dense.hpp"

namespace kiln::kernels {

/// Tiles are 128 columns wide: two accumulators and the metadata of all slots then fit tensor memory. `slot_bytes` are
/// those that A stores; B has twice as many.
inline constexpr DenseStrategy sparse_single{dsl::cta_group_1, 128, 128, 4}, sparse_pair{dsl::cta_group_2, 128, 128, 5};

/// What is multiplied: as in DenseProblem. Operands are contiguous along K, and sums are stored as they are.
template <dsl::MmaKind kind, class A, class B, class Sums, class D>
struct SparseProblem : DenseProblem<kind, A, B, Sums, D> {
  static constexpr std::array strategies{sparse_pair, sparse_single};
};

/// The types that follow from problem and strategy.
template <class Problem, DenseStrategy s>
struct SparseGemm {
  static constexpr int M = s.rows();
  using Mma = dsl::tcgen05_mma<Problem::kind, typename Problem::A, typename Problem::B, typename Problem::Sums, M,
                               s.columns, s.group, dsl::sparse>;
  static constexpr int stored_K = s.slot_bytes * 8 / Problem::A::bits, K = 2 * stored_K, steps = K / Mma::K;
  using ATile = dsl::SharedTile<typename Problem::A, Mma::a_rows, stored_K, dsl::K_major, s.swizzle>;
  using BTile = dsl::SharedTile<typename Problem::B, Mma::b_rows, K, dsl::K_major, s.swizzle>;
  using ETile = dsl::MetadataTile<Mma, steps>;
  using E = dsl::SparseMetadata<Mma, steps>;
  static_assert(Mma::a_rows == isa::metadata_image_rows, "a slot's images are those of a CTA's rows");

  static constexpr rules::Verdict check() {
    return strategy_fits(Mma::check(), s.accumulators * Mma::d_columns + s.stages * E::columns_held,
                         dsl::TilePack<ATile, BTile, ETile>::slot_bytes, s.stages);
  }
  using Required = decltype(rules::require<check()>());

  static constexpr auto parameter_list = [] {
    using namespace dsl;
    return parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(),
                      "E"_arg.is<TensorMapHandle<u32, 3>>(), "D"_arg.is<Pointer<typename Problem::D>>(),
                      "m"_arg.is<u32>(), "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());
  };

  static dsl::Kernel build(const std::string& name, dsl::Target target);
  static launch::Contract problem(const dsl::Kernel& kernel, const dsl::Sizes& sizes);
};

/// How TMA sees metadata: rows of as many words as a box may have, `image_rows` of them an image.
inline constexpr int metadata_box_words = 256, image_rows = isa::metadata_image_words / metadata_box_words;

template <class Problem, DenseStrategy s>
dsl::Kernel SparseGemm<Problem, s>::build(const std::string& name, dsl::Target target) {
  using namespace dsl;
  constexpr int a = 0, b = 1, e = 2;  // places in a slot
  KernelBuilder gemm(name, target, warps<6>, s.group);
  const auto given = declare(gemm, parameter_list());
  const auto& A = given["A"_arg];
  const auto& B = given["B"_arg];
  const auto& metadata_map = given["E"_arg];
  const Result<typename Problem::D> D{given["D"_arg], given["m"_arg], given["n"_arg]};
  const U32 k_blocks = given["k_blocks"_arg];

  auto in = gemm.ring<s.stages, ATile, BTile, ETile>("in");
  auto acc = gemm.accumulator_ring<s.accumulators, Mma>("acc");
  auto metadata =
      gemm.tensor_memory<s.stages, E>("metadata");  // for each slot, so that none is written while it is read
  auto tiles = gemm.tiles(static_schedule, gemm.ceil_div(D.m, M), gemm.ceil_div(D.n, Mma::N));
  U32 rank = gemm.pair_rank();

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace tile) {
      U32 row = tile.row * M + rank * Mma::a_rows, col = tile.column * Mma::N + rank * Mma::b_rows;
      // Rows that are not there are zero, but zeros are no metadata: such rows take that of others.
      U32 image = select(row < D.m, row / Mma::a_rows, 0);
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.acquire(t);
        t.tma_load(slot.template get<a>(), A.at(row, i * stored_K), slot.full);
        t.tma_load(slot.template get<b>(), B.at(col, i * K), slot.full);
        t.tma_load(slot.template get<e>(), metadata_map.at(0, i * (ETile::images * image_rows), image), slot.full);
      });
    });
  });
  gemm.role("mma", leader_cta, warp<5>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace) {
      auto d = acc.acquire(t);
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.wait(t);
        const E kept = metadata.at(slot.stage);
        t.copy(kept, slot.template get<e>());
        for (int k = 0; k < steps; ++k)
          t.mma<Mma>(d.sums, slot.template get<a>().k_slice(k * Mma::a_k), slot.template get<b>().k_slice(k * Mma::K),
                     accumulate(i != 0 || k != 0), kept.at(k));
        t.commit(slot.empty, all_ctas);
      });
      t.commit(d.full, all_ctas);
    });
  });
  store_tiles(gemm, tiles, acc, D);
  return gemm.build();
}

/// What the buffers of a sparse problem hold: element types, and the images of metadata along K that a slot takes.
struct SparseTypes {
  isa::ScalarType a, b, d;
  std::uint64_t images;
};
/// Buffers A (half of K), B, E (the metadata of A), D (poison), and the expectation that D is the product.
launch::Contract sparse_buffers(const GemmSizes&, const SparseTypes&);
/// A contract's metadata as TMA sees it; a box of so many images along K.
launch::TensorMap metadata_map(const launch::Contract&, const std::string& buffer, std::uint32_t images);

template <class Problem, DenseStrategy s>
launch::Contract SparseGemm<Problem, s>::problem(const dsl::Kernel& kernel, const dsl::Sizes& sizes) {
  using namespace dsl;
  // Rows of A, which are half as long, must be whole 16 bytes.
  const GemmSizes x = gemm_sizes(sizes, 2 * row_elements<typename Problem::A, typename Problem::B>);
  launch::Contract c = sparse_buffers(x, {Problem::A::scalar, Problem::B::scalar, Problem::D::scalar, ETile::images});
  const launch::TensorMap metadata = metadata_map(c, "E", ETile::images);
  launch_kernel(c, kernel, parameter_list(), persistent_grid(sizes, M, Mma::N, Mma::ctas),
                "A"_arg = GlobalTensor{"A", x.m, x.k / 2}, "B"_arg = GlobalTensor{"B", x.n, x.k}, "E"_arg = metadata,
                "D"_arg = "D", "m"_arg = x.m, "n"_arg = x.n, "k_blocks"_arg = pieces(x.k, K));
  return c;
}

}  // namespace kiln::kernels
