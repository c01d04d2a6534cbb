// One generator for GEMMs of every dense kind without scales: D = A * B^T as a persistent, warp-specialised kernel for
// one CTA a tile or a pair. What is multiplied and how are two template arguments; a combination that breaks a rule
// does not compile. The ladder (kernels/ladder) builds up the same kernel idea by idea.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "kernels/batch.hpp"

namespace kiln::kernels {

/// How: CTAs that share a tile, columns of a tile, bytes of K in a slot, slots, accumulators, and how operands lie in
/// shared memory. A tile has 128 rows a CTA.
struct DenseStrategy {
  dsl::CtaGroup group = dsl::cta_group_2;
  int columns = 256;
  int slot_bytes = 128;
  int stages = 7;
  int accumulators = 2;  // with two, one is stored while the other is summed up
  dsl::Layout swizzle = dsl::swizzle_128B;

  constexpr int ctas() const { return group == dsl::cta_group_2 ? 2 : 1; }
  constexpr int rows() const { return 128 * ctas(); }
};
inline constexpr DenseStrategy single{dsl::cta_group_1, 256, 128, 4}, pair{dsl::cta_group_2, 256, 128, 7};
/// For 99 KiB of shared memory, which is what sm_120 has: `kiln lower` takes it there.
inline constexpr DenseStrategy compact{dsl::cta_group_1, 128, 128, 3};

/// Whether a strategy fits: a legal MMA, its columns of tensor memory, its slots of shared memory. All targets with
/// tensor memory have as much of both.
constexpr rules::Verdict strategy_fits(const rules::Verdict& mma, int columns, int slot_bytes, int stages) {
  return rules::first(mma, rules::tmem_budget(columns),
                      rules::shared_budget(dsl::sm_100a, std::int64_t(stages) * slot_bytes));
}

/// What is multiplied: the kind of MMA, the element types of A and B (unpacked<...> where 4 or 6 bits take a byte of
/// shared memory), of the sums in tensor memory and of D; what becomes of the sums; and which extent of A and of B is
/// contiguous in memory, K or the other one. A problem may say that its `Matrices` are a Batch, and how soon L2 is to
/// give up its operands. `strategies` are those that it is instantiated with; a problem may have its own.
template <dsl::MmaKind kind_, class A_, class B_, class Sums_, class D_, class Epilogue_ = Plain,
          dsl::Major a_major_ = dsl::K_major, dsl::Major b_major_ = dsl::K_major>
struct DenseProblem {
  static constexpr dsl::MmaKind kind = kind_;
  using A = A_;
  using B = B_;
  using Sums = Sums_;
  using D = D_;
  using Epilogue = Epilogue_;
  using Matrices = OneMatrix;
  static constexpr dsl::Major a_major = a_major_, b_major = b_major_;
  static constexpr isa::L2Eviction a_eviction = isa::L2Eviction::none, b_eviction = isa::L2Eviction::none;
  static constexpr std::array strategies{pair, single, compact};
};

/// What a load says to L2.
template <isa::L2Eviction eviction>
dsl::TensorLoadExtras hint() {
  if constexpr (eviction == isa::L2Eviction::none) return {};
  else return dsl::L2_cache_hint(eviction);
}

/// The types that follow from problem and strategy.
template <class Problem, DenseStrategy s>
struct DenseGemm {
  static constexpr int M = s.rows();
  using Mma = dsl::tcgen05_mma<Problem::kind, typename Problem::A, typename Problem::B, typename Problem::Sums, M,
                               s.columns, s.group>;
  static constexpr int K = s.slot_bytes * 8 / Problem::A::bits;
  using ATile = dsl::SharedTile<typename Problem::A, Mma::a_rows, K, Problem::a_major, s.swizzle>;
  using BTile = dsl::HalfTile<typename Problem::B, Mma::b_rows, K, Problem::b_major, s.swizzle>;
  using Matrices = typename Problem::Matrices;
  static_assert(std::is_same_v<Matrices, OneMatrix> || std::is_same_v<typename Problem::Epilogue, Plain>,
                "an epilogue reads what belongs to one matrix");

  static constexpr rules::Verdict check() {
    return strategy_fits(Mma::check(), s.accumulators * Mma::d_columns, dsl::TilePack<ATile, BTile>::slot_bytes,
                         s.stages);
  }
  using Required = decltype(rules::require<check()>());

  static constexpr auto parameter_list = [] {
    using namespace dsl;
    return joined(parameters("A"_arg.is<typename Matrices::template Map<ATile>>(),
                             "B"_arg.is<typename Matrices::template Map<BTile>>(),
                             "D"_arg.is<Pointer<typename Problem::D>>(), "m"_arg.is<u32>(), "n"_arg.is<u32>(),
                             "k_blocks"_arg.is<u32>()),
                  joined(Problem::Epilogue::parameter_list(), Matrices::parameter_list()));
  };

  static dsl::Kernel build(const std::string& name, dsl::Target target);
  static launch::Contract problem(const dsl::Kernel& kernel, const dsl::Sizes& sizes);
};

template <class Problem, DenseStrategy s>
dsl::Kernel DenseGemm<Problem, s>::build(const std::string& name, dsl::Target target) {
  using namespace dsl;
  constexpr int a = 0, b = 1;  // places in a slot
  KernelBuilder gemm(name, target, warps<6>, s.group);
  gemm.minnctapersm(1);  // its ring takes the shared memory of an SM
  const auto given = declare(gemm, parameter_list());
  const auto& A = given["A"_arg];
  const auto& B = given["B"_arg];
  const Result<typename Problem::D> D{given["D"_arg], given["m"_arg], given["n"_arg]};
  const U32 k_blocks = given["k_blocks"_arg];

  auto in = gemm.ring<s.stages, ATile, BTile>("in");
  auto acc = gemm.accumulator_ring<s.accumulators, Mma>("acc");
  const U32 row_tiles = gemm.ceil_div(D.m, M);
  auto tiles = gemm.tiles(static_schedule, Matrices::all_rows(given, row_tiles), gemm.ceil_div(D.n, Mma::N));
  U32 rank = gemm.pair_rank();

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace tile) {
      const TileRow where = Matrices::row(tile, row_tiles);
      const U32 row = where.row * M + rank * Mma::a_rows, col = tile.column * Mma::N + rank * Mma::b_rows;
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.acquire(t);
        t.tma_load(slot.template get<a>(), Matrices::box(A, where, row, i * K), slot.full, hint<Problem::a_eviction>());
        t.tma_load(slot.template get<b>(), Matrices::box(B, where, col, i * K), slot.full, hint<Problem::b_eviction>());
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
  store_tiles(gemm, tiles, acc, Problem::Epilogue::device(given), [&](const TilePlace& tile) {
    const TileRow where = Matrices::row(tile, row_tiles);
    return MatrixTile<typename Problem::D>{Matrices::result(D, where), where.row};
  });
  return gemm.build();
}

template <class Problem, DenseStrategy s>
launch::Contract DenseGemm<Problem, s>::problem(const dsl::Kernel& kernel, const dsl::Sizes& sizes) {
  using namespace dsl;
  constexpr std::uint64_t row = row_elements<typename Problem::A, typename Problem::B>;
  static_assert(Problem::b_major == K_major || 8 % row == 0, "only multiples of 8 are asked of N");
  constexpr bool a_transposed = Problem::a_major == MN_major, b_transposed = Problem::b_major == MN_major;
  const GemmSizes x = gemm_sizes(sizes, a_transposed && b_transposed ? 1 : row, a_transposed ? row : 1);
  launch::Contract c = gemm_buffers(x, Problem::A::scalar, Problem::B::scalar, Problem::D::scalar);
  if (a_transposed) store_transposed(c, "A");
  if (b_transposed) store_transposed(c, "B");
  if (Problem::Sums::scalar == isa::ScalarType::f16) c.expectations.front().accumulate = isa::ScalarType::f16;
  if (Problem::A::bits != Problem::A::packed_bits || Problem::B::bits != Problem::B::packed_bits)
    c.expectations.front().mma_k = Mma::K;
  if (isa::has(isa::Feature::wgmma, kernel.target) && Problem::kind == kind_f8f6f4)
    c.expectations.front().width = isa::wgmma_fp8_width;
  Matrices::describe(c, sizes);
  Problem::Epilogue::describe(c, x);
  Problem::Epilogue::arguments([&](auto... epilogue) {
    Matrices::arguments(sizes, [&](auto... batch) {
      launch_kernel(c, kernel, parameter_list(), persistent_grid(sizes, M, Mma::N, Mma::ctas, Matrices::count(sizes)),
                    "A"_arg = Matrices::template tensor<ATile>({"A", x.m, x.k}, sizes),
                    "B"_arg = Matrices::template tensor<BTile>({"B", x.n, x.k}, sizes),
                    "D"_arg = "D", "m"_arg = x.m, "n"_arg = x.n, "k_blocks"_arg = pieces(x.k, K), epilogue...,
                    batch...);
    });
  });
  return c;
}

/// The options --m, --n, --k, --ctas, and those that choose a strategy: --tile, --stages, --cta-group, --accumulators,
/// --swizzle.
std::span<const dsl::SizeOption> dense_options();
/// The same and --batch.
std::span<const dsl::SizeOption> batched_options();
/// A strategy as these options choose it, with the K of its slots in elements.
dsl::Strategy described(const DenseStrategy&, int k);

/// A row of the kernel table: a problem, which has a name, with each of its strategies, of which the options choose
/// one. Instantiated in a file of its own.
template <template <class, DenseStrategy> class Generator, class Problem>
struct GeneratedKernel {
  static dsl::Kernel build(isa::Target target, const dsl::Sizes& sizes) {
    return chosen(sizes).build(Problem::name, target);
  }
  static launch::Contract problem(const dsl::Kernel& kernel, const dsl::Sizes& sizes) {
    return chosen(sizes).problem(kernel, sizes);
  }
  /// In the order of the problem's list.
  static std::span<const dsl::Strategy> strategies() {
    static const auto list = each([](auto i) { return described(Problem::strategies[i], Variant<i>::K); });
    return list;
  }

 private:
  template <std::size_t i>
  using Variant = Generator<Problem, Problem::strategies[i]>;
  struct Functions {
    dsl::Kernel (*build)(const std::string& name, dsl::Target);
    launch::Contract (*problem)(const dsl::Kernel&, const dsl::Sizes&);
  };

  // make(i) for each strategy.
  template <class Make>
  static constexpr auto each(Make make) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return std::array{make(std::integral_constant<std::size_t, i>())...};
    }(std::make_index_sequence<Problem::strategies.size()>());
  }
  static Functions chosen(const dsl::Sizes& sizes) {
    static constexpr auto functions = each([](auto i) { return Functions{&Variant<i>::build, &Variant<i>::problem}; });
    return functions[dsl::chosen_strategy(Problem::name, strategies(), sizes)];
  }
};

}  // namespace kiln::kernels
