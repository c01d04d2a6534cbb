// One generator for GEMMs of every dense kind without scales: D = A * B^T, K contiguous in A and B, as a persistent,
// warp-specialised kernel for one CTA a tile or a pair. What is multiplied and how are two template arguments; a
// combination that breaks a rule does not compile. The ladder (kernels/ladder) builds up the same kernel idea by idea.
#pragma once

#include <string>

#include "kernels/epilogue.hpp"
#include "kernels/gemm.hpp"

namespace kiln::kernels {

/// What is multiplied: the kind of MMA, the element types of A and B (unpacked<...> where 4 or 6 bits take a byte of shared
/// memory), of the sums in tensor memory and of D.
template <dsl::MmaKind kind_, class A_, class B_, class Sums_, class D_>
struct DenseProblem {
  static constexpr dsl::MmaKind kind = kind_;
  using A = A_;
  using B = B_;
  using Sums = Sums_;
  using D = D_;
};

/// How: CTAs that share a tile, columns of a tile, bytes of K in a slot, slots. A tile has 128 rows a CTA.
struct DenseStrategy {
  dsl::CtaGroup group = dsl::cta_group_2;
  int columns = 256;
  int slot_bytes = 128;
  int stages = 7;
};
inline constexpr DenseStrategy single{dsl::cta_group_1, 256, 128, 4}, pair{dsl::cta_group_2, 256, 128, 7};

/// The types that follow from problem and strategy.
template <class Problem, DenseStrategy s>
struct DenseGemm {
  static constexpr int M = s.group == dsl::cta_group_2 ? 256 : 128;
  using Mma = dsl::tcgen05_mma<Problem::kind, typename Problem::A, typename Problem::B, typename Problem::Sums, M,
                               s.columns, s.group>;
  static constexpr int K = s.slot_bytes * 8 / Problem::A::bits;
  using ATile = dsl::SharedTile<typename Problem::A, Mma::a_rows, K, dsl::K_major, dsl::swizzle_128B>;
  using BTile = dsl::SharedTile<typename Problem::B, Mma::b_rows, K, dsl::K_major, dsl::swizzle_128B>;
  static constexpr auto parameter_list = [] {
    using namespace dsl;
    return parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(),
                      "D"_arg.is<Pointer<typename Problem::D>>(), "m"_arg.is<u32>(), "n"_arg.is<u32>(),
                      "k_blocks"_arg.is<u32>());
  };

  static dsl::Kernel build(const std::string& name, dsl::Target target);
  static launch::Contract problem(const dsl::Kernel& kernel, const dsl::Sizes& sizes);
};

template <class Problem, DenseStrategy s>
dsl::Kernel DenseGemm<Problem, s>::build(const std::string& name, dsl::Target target) {
  using namespace dsl;
  constexpr int a = 0, b = 1;  // places in a slot
  KernelBuilder gemm(name, target, warps<6>, s.group);
  const auto given = declare(gemm, parameter_list());
  const auto& A = given["A"_arg];
  const auto& B = given["B"_arg];
  const Result<typename Problem::D> D{given["D"_arg], given["m"_arg], given["n"_arg]};
  const U32 k_blocks = given["k_blocks"_arg];

  auto in = gemm.ring<s.stages, ATile, BTile>("in");
  auto acc = gemm.accumulator_ring<2, Mma>("acc");
  auto tiles = gemm.tiles(static_schedule, gemm.ceil_div(D.m, M), gemm.ceil_div(D.n, Mma::N));
  U32 rank = gemm.pair_rank();

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace tile) {
      U32 row = tile.row * M + rank * Mma::a_rows, col = tile.column * Mma::N + rank * Mma::b_rows;
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.acquire(t);
        t.tma_load(slot.template get<a>(), A.at(row, i * K), slot.full);
        t.tma_load(slot.template get<b>(), B.at(col, i * K), slot.full);
      });
    });
  });
  gemm.role("mma", leader_cta, warp<5>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace) {
      auto d = acc.acquire(t);
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.wait(t);
        for (int k = 0; k < K; k += Mma::K)
          t.mma<Mma>(d.sums, slot.template get<a>().k_slice(k), slot.template get<b>().k_slice(k),
                     accumulate(i != 0 || k != 0));
        t.commit(slot.empty, all_ctas);
      });
      t.commit(d.full, all_ctas);
    });
  });
  store_tiles(gemm, tiles, acc, D);
  return gemm.build();
}

template <class Problem, DenseStrategy s>
launch::Contract DenseGemm<Problem, s>::problem(const dsl::Kernel& kernel, const dsl::Sizes& sizes) {
  using namespace dsl;
  const GemmSizes x = gemm_sizes(sizes, row_elements<typename Problem::A, typename Problem::B>);
  launch::Contract c = gemm_buffers(x, Problem::A::scalar, Problem::B::scalar, Problem::D::scalar);
  if (Problem::Sums::scalar == isa::ScalarType::f16) c.expectations.front().accumulate = isa::ScalarType::f16;
  if (Problem::A::bits != Problem::A::packed_bits || Problem::B::bits != Problem::B::packed_bits)
    c.expectations.front().mma_k = Mma::K;
  launch_kernel(c, kernel, parameter_list(), persistent_grid(sizes, M, Mma::N, Mma::ctas),
                "A"_arg = GlobalTensor{"A", x.m, x.k}, "B"_arg = GlobalTensor{"B", x.n, x.k}, "D"_arg = "D",
                "m"_arg = x.m, "n"_arg = x.n, "k_blocks"_arg = pieces(x.k, K));
  return c;
}

/// The options --m, --n, --k, --ctas and --cta-group.
std::span<const dsl::SizeOption> dense_options();
/// --cta-group, 1 or 2; whether it is 2. Throws diag::InputError for other numbers.
bool wants_pairs(const dsl::Sizes& sizes);

/// The strategies of a generator, by the CTAs that share a tile.
template <template <class, DenseStrategy> class Generator>
struct StrategiesOf;
template <>
struct StrategiesOf<DenseGemm> {
  static constexpr DenseStrategy one = single, two = pair;
};

/// A row of the kernel table: a problem, which has a name, with both strategies of its generator, of which --cta-group
/// chooses. Instantiated in a file of its own.
template <template <class, DenseStrategy> class Generator, class Problem>
struct GeneratedKernel {
  using One = Generator<Problem, StrategiesOf<Generator>::one>;
  using Two = Generator<Problem, StrategiesOf<Generator>::two>;

  static dsl::Kernel build(isa::Target target, const dsl::Sizes& sizes) {
    return wants_pairs(sizes) ? Two::build(Problem::name, target) : One::build(Problem::name, target);
  }
  static launch::Contract problem(const dsl::Kernel& kernel, const dsl::Sizes& sizes) {
    return wants_pairs(sizes) ? Two::problem(kernel, sizes) : One::problem(kernel, sizes);
  }
};

}  // namespace kiln::kernels
