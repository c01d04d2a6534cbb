// What threads read and write of tiles in shared memory and of accumulators in tensor memory, against plain arithmetic:
// every layout, whole and in parts. Simulated.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "dsl/dsl.hpp"
#include "ptx/num/format.hpp"
#include "tests/differential/dsl_run.hpp"

namespace dsl_memory {

using namespace kiln;
using namespace kiln::dsl;
using test::store_tile;

namespace {

launch::Buffer buffer(const char* name, ScalarType type, std::vector<std::uint64_t> shape,
                      std::vector<std::uint8_t> bytes = {}) {
  launch::Buffer b;
  b.name = name;
  b.dtype = type;
  b.shape = std::move(shape);
  b.bytes = std::move(bytes);
  if (!b.bytes.empty())
    b.init.kind = launch::Init::Kind::hex;
  else
    b.bytes.resize(b.size());
  return b;
}

// Tiles ---------------------------------------------------------------------------------------------------------------

/// TMA brings a tile; each thread sends its row to `rows` and writes the halves of it, exchanged, to another tile that
/// TMA sends to `tiles`.
template <class Tile>
struct Rows {
  using T = typename Tile::element;
  static constexpr int columns = Tile::cols;
  static constexpr auto list =
      parameters("in"_arg.is<TensorMap<Tile>>(), "tiles"_arg.is<TensorMap<Tile>>(), "rows"_arg.is<Pointer<T>>());

  static Kernel build() {
    KernelBuilder k("rows", sm_100a, warps<4>);
    const auto given = declare(k, list);
    const auto in = k.shared<Tile>(), out = k.shared<Tile>();
    const auto loaded = k.mbarrier("loaded");
    k.role("rows", warpgroup<0>, [&](Warpgroup& g) {
      g.elect([&](Thread t) {
        t.expect_tx(loaded, Tile::transaction_bytes);
        t.tma_load(in, given["in"_arg].at(0, 0), loaded);
      });
      g.wait(loaded, Phase{0});
      const auto row = g.load(in);
      g.store_global(given["rows"_arg].at(widen(g.row() * columns)), row, k.constant(columns));
      g.store_row(out, g.row(), columns / 2, g.load_row<columns / 2>(in, g.row(), 0));
      g.store_row(out, g.row(), 0, g.load_row<columns / 2>(in, g.row(), columns / 2));
      store_tile(g, given["tiles"_arg], out);
    });
    return k.build();
  }

  static bool are_right() {
    const Kernel kernel = build();
    std::vector<std::uint8_t> bytes(std::size_t(Tile::rows * columns * T::bits / 8));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::uint8_t(i * 37 + i / 256 * 11);
    const std::vector<std::uint64_t> shape{std::uint64_t(Tile::rows), std::uint64_t(columns)};
    launch::Contract c;
    c.buffers = {buffer("in", T::scalar, shape, bytes), buffer("tiles", T::scalar, shape),
                 buffer("rows", T::scalar, shape)};
    launch_kernel(c, kernel, list, {1, 1, 1}, "in"_arg = GlobalTensor{"in", shape[0], shape[1]},
                  "tiles"_arg = GlobalTensor{"tiles", shape[0], shape[1]}, "rows"_arg = "rows");
    test::simulate(kernel, c);
    if (c.find("rows")->bytes != bytes) return false;
    const std::size_t row = std::size_t(columns * T::bits / 8), half = row / 2;
    for (std::size_t r = 0; r < std::size_t(Tile::rows); ++r) {
      const std::uint8_t* sent = &c.find("tiles")->bytes[r * row];
      if (std::memcmp(sent, &bytes[r * row + half], half) || std::memcmp(sent + half, &bytes[r * row], half))
        return false;
    }
    return true;
  }
};

template <class T, int columns, Layout layout>
bool rows_are_right() {
  return Rows<SharedTile<T, 128, columns, K_major, layout>>::are_right();
}

// Accumulators --------------------------------------------------------------------------------------------------------

// What A (seed 1) and B (seed 5) hold.
double value(int row, int k, int seed) { return double((row * 7 + k * 3 + seed) % 9) - 4; }
std::vector<std::uint8_t> bytes_of(int rows, int columns, int seed) {
  std::vector<std::uint8_t> bytes(std::size_t(rows * columns * 2));
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < columns; ++k) {
      const auto word = std::uint16_t(num::encode(ScalarType::bf16, value(r, k, seed)));
      std::memcpy(&bytes[std::size_t(2 * (r * columns + k))], &word, 2);
    }
  return bytes;
}
// How many elements of D are not `factor` A B^T.
int wrong_products(const launch::Contract& c, int rows, int columns, int k_extent, double factor) {
  int wrong = 0;
  for (int m = 0; m < rows; ++m)
    for (int n = 0; n < columns; ++n) {
      double want = 0;
      for (int k = 0; k < k_extent; ++k) want += factor * value(m, k, 1) * value(n, k, 5);
      float got;
      std::memcpy(&got, &c.find("D")->bytes[4 * std::size_t(m * columns + n)], 4);
      wrong += double(got) != want;
    }
  return wrong;
}

/// Runs a kernel with that list of arguments on matrices of small numbers: how many of its sums are not as they must
/// be.
template <class List>
int wrong_sums(const Kernel& kernel, const List& list, std::uint32_t ctas, int rows, int columns, int k_extent,
               double factor) {
  const std::uint64_t m = std::uint64_t(rows), n = std::uint64_t(columns), k = std::uint64_t(k_extent);
  launch::Contract c;
  c.buffers = {buffer("A", ScalarType::bf16, {m, k}, bytes_of(rows, k_extent, 1)),
               buffer("B", ScalarType::bf16, {n, k}, bytes_of(columns, k_extent, 5)),
               buffer("D", ScalarType::f32, {m, n})};
  launch_kernel(c, kernel, list, {ctas, 1, 1}, "A"_arg = GlobalTensor{"A", m, k}, "B"_arg = GlobalTensor{"B", n, k},
                "rows"_arg = "A", "D"_arg = "D");
  test::simulate(kernel, c);
  return wrong_products(c, rows, columns, k_extent, factor);
}

/// D = 2 A B^T of one tile: the sums go through registers once, in two parts, before they are read.
template <class Mma, bool a_in_tmem>
struct Sums {
  static constexpr int M = Mma::M, N = Mma::N, K = 64;
  using ATile = SharedTile<bf16, M, K, K_major, swizzle_128B>;
  using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;
  using D = typename Mma::Accumulator;
  static constexpr int held = D::thread_columns;
  static constexpr auto list = parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(),
                                          "rows"_arg.is<Pointer<bf16>>(), "D"_arg.is<Pointer<f32>>());

  static Kernel build() {
    KernelBuilder k("sums", sm_100a, warps<4>);
    const auto given = declare(k, list);
    const auto a = k.shared<ATile>();
    const auto b = k.shared<BTile>();
    const auto loaded = k.mbarrier("loaded"), multiplied = k.mbarrier("multiplied");
    const D acc = k.accumulator<Mma>("acc");
    const auto weights = k.tensor_memory<TmemAOf<Mma, K>>("weights");
    k.role("sums", warpgroup<0>, [&](Warpgroup& g) {
      if constexpr (a_in_tmem) {
        const U64 mine = given["rows"_arg].at(widen(g.row_of(weights) * K + g.column_of(weights)));
        constexpr int part = D::thread_columns < D::columns_held ? K / 4 : K / 2;  // two make what a thread holds
        g.store(weights, g.load_global<bf16, part>(mine, k.constant(K)));
        g.store(weights, g.load_global<bf16, part>(mine, k.constant(K), part), part);
        g.tcgen05_wait_st();
        g.sync();
      }
      g.elect([&](Thread t) {
        t.expect_tx(loaded, ATile::transaction_bytes + BTile::transaction_bytes);
        t.tma_load(a, given["A"_arg].at(0, 0), loaded);
        t.tma_load(b, given["B"_arg].at(0, 0), loaded);
        t.wait(loaded, Phase{0});
        for (int i = 0; i < K; i += Mma::K) {
          if constexpr (a_in_tmem)
            t.mma<Mma>(acc, weights.k_slice(i), b.k_slice(i), accumulate(i != 0));
          else
            t.mma<Mma>(acc, a.k_slice(i), b.k_slice(i), accumulate(i != 0));
        }
        t.commit(multiplied);
      });
      g.wait(multiplied, Phase{0});
      const auto first = g.wait(g.template load<held / 2>(acc, 0)),
                 second = g.wait(g.template load<held / 2>(acc, held / 2));
      g.store(acc, make_registers<held / 2>([&](int i) { return first[i] * 2; }));
      g.store(acc, make_registers<held / 2>([&](int i) { return second[i] + second[i]; }), held / 2);
      g.tcgen05_wait_st();
      const auto all = g.wait(g.load(acc));
      const U64 to = given["D"_arg].at(widen(g.row_of(acc) * N + g.column_of(acc)));
      if constexpr (Mma::M == 32 || Mma::M == 64 || Mma::M == 128) g.store_global(to, all, k.constant(held));
    });
    return k.build();
  }

  static int wrong() { return wrong_sums(build(), list, 1, M, N, K, 2); }
};

/// What a kernel of one warpgroup has that multiplies one tile of A by one of B: it copies them, multiplies, and waits.
template <class Mma>
struct OneProduct {
  static constexpr int K = 64;
  using ATile = typename Mma::template ATile<K, K_major, swizzle_128B>;
  using BTile = typename Mma::template BTile<K, K_major, swizzle_128B>;

  explicit OneProduct(KernelBuilder& k)
      : a(k.shared<ATile>()), b(k.shared<BTile>()), loaded(k.mbarrier("loaded")), multiplied(k.mbarrier("multiplied")),
        acc(k.accumulator<Mma>("acc")) {}

  void compute(Warpgroup& g, const TensorMap<ATile>& from_a, const TensorMap<BTile>& from_b) const {
    g.elect([&](Thread t) {
      t.expect_tx(loaded, ATile::transaction_bytes + BTile::transaction_bytes);
      t.tma_load(a, from_a.at(0, 0), loaded);
      t.tma_load(b, from_b.at(0, 0), loaded);
      t.wait(loaded, Phase{0});
      t.mma_tiles<Mma>(acc, a, b, accumulate(false));
      t.commit(multiplied);
    });
    g.wait(multiplied, Phase{0});
  }

  Shared<ATile> a;
  Shared<BTile> b;
  Mbarrier loaded, multiplied;
  typename Mma::Accumulator acc;
};

/// D = A B^T of one tile, read 16 rows at a time: each lane stores two neighbours of a row by their places, and
/// stmatrix writes the same, rounded, to a tile that TMA stores.
template <class Mma>
struct SumsByFragments {
  using Product = OneProduct<Mma>;
  static constexpr int M = Mma::M, N = Mma::N, K = Product::K, halves = M / 64;
  using DTile = SharedTile<bf16, M, N, K_major, swizzle_128B>;
  static constexpr auto list = parameters("A"_arg.is<TensorMap<typename Product::ATile>>(),
                                          "B"_arg.is<TensorMap<typename Product::BTile>>(),
                                          "rounded"_arg.is<TensorMap<DTile>>(), "D"_arg.is<Pointer<f32>>());

  static Kernel build() {
    KernelBuilder k("fragments", sm_100a, warps<4>);
    const auto given = declare(k, list);
    const auto out = k.shared<DTile>();
    const Product product(k);
    const auto acc = product.acc;
    k.role("sums", warpgroup<0>, [&](Warpgroup& g) {
      product.compute(g, given["A"_arg], given["B"_arg]);
      for (int half = 0; half < halves; ++half)
        for (int c = 0; c < N; c += 16) {
          using Place = SumsFragment<16>;
          const auto sums = g.wait(g.template load_fragment<16>(acc, half, c));
          const U32 first = g.row_of_fragment(acc, half);
          for (int i = 0; i < Place::elements; ++i) {
            const U32 row = first + Place::row(g.lane(), i), column = Place::column(g.lane(), i) + c;
            const auto one = make_registers<1>([&](int) { return sums[i]; });
            g.store_global(given["D"_arg].at(widen(row * N + column)), one, row < M);
          }
          g.template stmatrix<Fragment<bf16, 16, 16>>(out, first, c, cvt<bf16>(sums));
        }
      store_tile(g, given["rounded"_arg], out);
    });
    return k.build();
  }

  static int wrong() {
    const Kernel kernel = build();
    launch::Contract c;
    c.buffers = {buffer("A", ScalarType::bf16, {M, K}, bytes_of(M, K, 1)),
                 buffer("B", ScalarType::bf16, {N, K}, bytes_of(N, K, 5)), buffer("D", ScalarType::f32, {M, N}),
                 buffer("rounded", ScalarType::bf16, {M, N})};
    launch_kernel(c, kernel, list, {1, 1, 1}, "A"_arg = GlobalTensor{"A", M, K}, "B"_arg = GlobalTensor{"B", N, K},
                  "rounded"_arg = GlobalTensor{"rounded", M, N}, "D"_arg = "D");
    test::simulate(kernel, c);
    int wrong = wrong_products(c, M, N, K, 1);
    for (std::size_t i = 0; i < std::size_t(M * N); ++i) {
      float exact;
      std::uint16_t rounded;
      std::memcpy(&exact, &c.find("D")->bytes[4 * i], 4);
      std::memcpy(&rounded, &c.find("rounded")->bytes[2 * i], 2);
      wrong += rounded != num::encode(ScalarType::bf16, double(exact));
    }
    return wrong;
  }
};

template <int M, int N>
int wrong_fragments() {
  return SumsByFragments<tcgen05_mma<kind_f16, bf16, bf16, f32, M, N>>::wrong();
}

/// D = A B^T of one tile that a pair of CTAs shares; each CTA has its rows of A, in shared or in tensor memory.
template <class Mma, bool a_in_tmem>
struct PairSums {
  static constexpr int M = Mma::M, N = Mma::N, K = 64;
  using ATile = typename Mma::template ATile<K, K_major, swizzle_128B>;
  using BTile = typename Mma::template BTile<K, K_major, swizzle_128B>;
  static constexpr auto list = parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(),
                                          "rows"_arg.is<Pointer<bf16>>(), "D"_arg.is<Pointer<f32>>());

  static Kernel build() {
    KernelBuilder k("pair_sums", sm_100a, warps<6>, cta_group_2);
    const auto given = declare(k, list);
    auto in = k.ring<1, ATile, BTile>("in");
    auto acc = k.accumulator_ring<1, Mma>("acc");
    const auto weights = k.tensor_memory<TmemAOf<Mma, K>>("weights");
    const auto weights_full = k.mbarrier<8>("weights_full");  // the leader's: an arrival of each warp of both CTAs
    const U32 rank = k.pair_rank(), first = rank * Mma::a_rows;
    k.role("load", warp<4>.elect(), [&](Thread t) {
      const auto slot = in.acquire(t);
      t.tma_load(slot.template get<0>(), given["A"_arg].at(first, 0), slot.full);
      t.tma_load(slot.template get<1>(), given["B"_arg].at(rank * Mma::b_rows, 0), slot.full);
    });
    k.role("multiply", leader_cta, warp<5>.elect(), [&](Thread t) {
      const auto slot = in.wait(t);
      const auto d = acc.acquire(t);
      if constexpr (a_in_tmem) {
        t.wait(weights_full, Phase{0}, acquire_cluster);
        t.mma_tiles<Mma>(d.sums, weights, slot.template get<1>(), accumulate(false));
      } else {
        t.mma_tiles<Mma>(d.sums, slot.template get<0>(), slot.template get<1>(), accumulate(false));
      }
      t.commit(slot.empty, all_ctas);
      t.commit(d.full, all_ctas);
    });
    k.role("sums", warpgroup<0>, [&](Warpgroup& g) {
      if constexpr (a_in_tmem) {
        const U64 mine = given["rows"_arg].at(widen((first + g.row_of(weights)) * K + g.column_of(weights)));
        g.store(weights, g.load_global<bf16, K>(mine, k.constant(K)));
        g.tcgen05_wait_st();
        g.arrive_by_warp(g.mapa(weights_full, 0));
      }
      const auto d = acc.wait(g);
      const auto all = g.wait(g.load(d.sums));
      acc.release(g, d);
      const U64 to = given["D"_arg].at(widen((first + g.row_of(d.sums)) * N + g.column_of(d.sums)));
      g.store_global(to, all, k.constant(Mma::d_columns));
    });
    return k.build();
  }

  static int wrong() { return wrong_sums(build(), list, 2, M, N, K, 1); }
};

template <int M, int N, bool a_in_tmem>
int wrong_pair_sums() {
  return PairSums<tcgen05_mma<kind_f16, bf16, bf16, f32, M, N, cta_group_2>, a_in_tmem>::wrong();
}

template <int M, int N, bool a_in_tmem = false, auto... options>
int wrong_sums() {
  return Sums<tcgen05_mma<kind_f16, bf16, bf16, f32, M, N, options...>, a_in_tmem>::wrong();
}

}  // namespace

TEST_CASE("threads read and write their rows of a tile, whatever its layout") {
  CHECK(rows_are_right<bf16, 64, swizzle_128B>());
  CHECK(rows_are_right<bf16, 128, swizzle_128B>());
  CHECK(rows_are_right<bf16, 32, swizzle_64B>());
  CHECK(rows_are_right<bf16, 64, swizzle_64B>());
  CHECK(rows_are_right<bf16, 16, swizzle_32B>());
  CHECK(rows_are_right<bf16, 64, swizzle_none>());
  CHECK(rows_are_right<bf16, 64, packed>());
  CHECK(rows_are_right<f32, 32, swizzle_128B>());
  CHECK(rows_are_right<f32, 32, swizzle_128B_atom_32B>());
  CHECK(rows_are_right<e4m3, 128, swizzle_128B>());
}

TEST_CASE("sums of every M are read and written as they lie") {
  CHECK(wrong_sums<128, 64>() == 0);
  CHECK(wrong_sums<64, 64>() == 0);
  CHECK(wrong_sums<64, 128, false, weight_stationary>() == 0);
  CHECK(wrong_sums<32, 128, false, weight_stationary>() == 0);
}

TEST_CASE("A with 128 and with 64 rows goes through tensor memory") {
  CHECK(wrong_sums<128, 64, true>() == 0);
  CHECK(wrong_sums<64, 64, true>() == 0);
}

TEST_CASE("fragments of sums are where row() and column() say, and stmatrix takes them") {
  CHECK(wrong_fragments<128, 64>() == 0);
  CHECK(wrong_fragments<64, 64>() == 0);
  CHECK(wrong_fragments<128, 32>() == 0);
}

TEST_CASE("pairs of every M are read as they lie, and their A goes through tensor memory") {
  CHECK(wrong_pair_sums<256, 128, false>() == 0);
  CHECK(wrong_pair_sums<256, 128, true>() == 0);
  CHECK(wrong_pair_sums<128, 128, false>() == 0);
  CHECK(wrong_pair_sums<128, 128, true>() == 0);
  CHECK(wrong_pair_sums<128, 64, true>() == 0);
}

TEST_CASE("A of MMAs with .ws goes through tensor memory, once for each part of the lanes") {
  CHECK(wrong_sums<32, 128, true, weight_stationary>() == 0);
  CHECK(wrong_sums<64, 128, true, weight_stationary>() == 0);
  CHECK(wrong_sums<128, 64, true, weight_stationary>() == 0);
}

TEST_CASE("an arrival by each warp releases what all its lanes have read") {
  using Tile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
  constexpr auto list = parameters("in"_arg.is<TensorMap<Tile>>(), "sums"_arg.is<Pointer<f32>>());
  constexpr int rounds = 3;
  KernelBuilder k("released", sm_100a, warps<5>);
  const auto given = declare(k, list);
  const auto tile = k.shared<Tile>();
  const auto full = k.mbarrier("full"), empty = k.mbarrier<4>("empty");
  k.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(rounds, [&](U32 i) {
      t.wait(empty, Phase((i + 1) & 1));
      t.expect_tx(full, Tile::transaction_bytes);
      t.tma_load(tile, given["in"_arg].at(0, i * 64), full);
    });
  });
  k.role("add", warpgroup<0>, [&](Warpgroup& g) {
    auto sum = g.var(0.0f);
    g.loop(rounds, [&](U32 i) {
      g.wait(full, Phase(i & 1));
      const auto x = widen(g.load(tile));
      for (int c = 0; c < 64; ++c) sum += x[c];
      g.fence_proxy_async();
      g.arrive_by_warp(empty);
    });
    g.store_global(given["sums"_arg].at(widen(g.row())), make_registers<1>([&](int) { return sum.read(); }),
                   k.constant(1) == 1u);
  });
  const Kernel kernel = k.build();
  launch::Contract c;
  c.buffers = {buffer("in", ScalarType::bf16, {128, rounds * 64}, std::vector<std::uint8_t>(2 * 128 * rounds * 64)),
               buffer("sums", ScalarType::f32, {128})};
  launch_kernel(c, kernel, list, {1, 1, 1}, "in"_arg = GlobalTensor{"in", 128, rounds * 64}, "sums"_arg = "sums");
  for (std::uint64_t seed = 1; seed <= 5; ++seed) test::simulate(kernel, c, seed);
}

TEST_CASE("rows that numbers in memory name are gathered and scattered, and those below the matrix are left out") {
  using Tile = SharedTile<bf16, 64, 128, K_major, swizzle_128B>;
  constexpr std::uint64_t picks = 60, rows = 300, wide = 192, at = 64;  // four rows of the tile have no number
  constexpr auto list = parameters("X"_arg.is<TensorMapHandle<bf16, 2>>(), "Y"_arg.is<TensorMapHandle<bf16, 2>>(),
                                   "from"_arg.is<Pointer<u32>>(), "to"_arg.is<Pointer<u32>>());
  KernelBuilder k("picked", sm_100a, warps<1>);
  const auto given = declare(k, list);
  const auto tile = k.shared<Tile>();
  const auto full = k.mbarrier("full");
  k.role("pick", warp<0>.elect(), [&](Thread t) {
    const auto number = [&](const Pointer<u32>& of, const U32& r) {
      return select(r < picks, t.ld_global(of.at(widen(min(r, picks - 1)))), 0x10000u);
    };
    t.expect_tx(full, Tile::transaction_bytes);
    t.tma_gather(
        tile, given["X"_arg], at, [&](U32 r) { return number(given["from"_arg], r); }, full);
    t.wait(full, Phase{0});
    t.tma_scatter(
        given["Y"_arg], at, [&](U32 r) { return number(given["to"_arg], r); }, tile);
    t.commit_stores();
    t.wait_stores_read(0);
  });
  const Kernel kernel = k.build();
  std::vector<std::uint8_t> x(2 * rows * wide), y(2 * rows * wide), from(4 * picks), to(4 * picks);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::uint8_t(i * 37 + i / 256 * 11);
  std::vector<std::uint8_t> want = y;
  for (std::uint32_t i = 0; i < picks; ++i) {
    const std::uint32_t a = (i * 37 + 11) % rows, b = (i * 53 + 7) % rows;
    std::memcpy(&from[4 * i], &a, 4), std::memcpy(&to[4 * i], &b, 4);
    std::memcpy(&want[2 * (b * wide + at)], &x[2 * (a * wide + at)], 2 * Tile::cols);
  }
  launch::Contract c;
  c.buffers = {buffer("X", ScalarType::bf16, {rows, wide}, x), buffer("Y", ScalarType::bf16, {rows, wide}, y),
               buffer("from", ScalarType::u32, {picks}, from), buffer("to", ScalarType::u32, {picks}, to)};
  launch::TensorMap map = tensor_map<Tile>(GlobalTensor{"X", rows, wide}), out = map;
  map.box[1] = out.box[1] = 1;
  out.buffer = "Y";
  launch_kernel(c, kernel, list, {1, 1, 1}, "X"_arg = map, "Y"_arg = out, "from"_arg = "from", "to"_arg = "to");
  test::simulate(kernel, c);
  CHECK(c.find("Y")->bytes == want);
}

TEST_CASE("a row is written where its predicate holds") {
  using Tile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
  constexpr int m = 77;
  constexpr auto list =
      parameters("tiles"_arg.is<TensorMap<Tile>>(), "rows"_arg.is<Pointer<bf16>>(), "m"_arg.is<u32>());
  KernelBuilder k("ragged", sm_100a, warps<4>);
  const auto given = declare(k, list);
  const auto tile = k.shared<Tile>();
  k.role("rows", warpgroup<0>, [&](Warpgroup& g) {
    const auto ones = [&](float x) {
      return cvt<bf16>(
          make_registers<64>([&](int) { return bit_cast<F32>(g.row() * 0u + std::bit_cast<std::uint32_t>(x)); }));
    };
    const Pred there = g.row() < given["m"_arg];
    g.store(tile, ones(1));
    g.store_row(tile, g.row(), ones(2), there);
    g.store_global(given["rows"_arg].at(widen(g.row() * 64)), ones(3), k.constant(64), there);
    store_tile(g, given["tiles"_arg], tile);
  });
  const Kernel kernel = k.build();
  launch::Contract c;
  c.buffers = {buffer("tiles", ScalarType::bf16, {128, 64}),
               buffer("rows", ScalarType::bf16, {128, 64}, std::vector<std::uint8_t>(2 * 128 * 64))};
  launch_kernel(c, kernel, list, {1, 1, 1}, "tiles"_arg = GlobalTensor{"tiles", 128, 64}, "rows"_arg = "rows",
                "m"_arg = m);
  test::simulate(kernel, c);
  int wrong = 0;
  for (int i = 0; i < 128 * 64; ++i) {
    std::uint16_t tile_word, row_word;
    std::memcpy(&tile_word, &c.find("tiles")->bytes[std::size_t(2 * i)], 2);
    std::memcpy(&row_word, &c.find("rows")->bytes[std::size_t(2 * i)], 2);
    const bool inside = i / 64 < m;
    wrong += tile_word != num::encode(ScalarType::bf16, inside ? 2 : 1);
    wrong += row_word != (inside ? num::encode(ScalarType::bf16, 3) : 0);
  }
  CHECK(wrong == 0);
}

namespace {

/// D = A B^T of one tile by load_reduced: what each thread holds, and the greatest of that.
template <class Mma>
int wrong_greatest() {
  using Product = OneProduct<Mma>;
  constexpr int M = Mma::M, N = Mma::N, K = Product::K, held = Mma::Accumulator::thread_columns, parts = N / held;
  constexpr auto list = parameters("A"_arg.is<TensorMap<typename Product::ATile>>(),
                                   "B"_arg.is<TensorMap<typename Product::BTile>>(), "D"_arg.is<Pointer<f32>>(), "most"_arg.is<Pointer<f32>>());
  KernelBuilder k("greatest", sm_103a, warps<4>);
  const auto given = declare(k, list);
  const Product product(k);
  const auto acc = product.acc;
  k.role("sums", warpgroup<0>, [&](Warpgroup& g) {
    product.compute(g, given["A"_arg], given["B"_arg]);
    const auto [sums, most] = g.wait(g.load_reduced<RedOp::max>(acc));
    const U32 row = g.row_of(acc), column = g.column_of(acc);
    g.store_global(given["D"_arg].at(row * N + column), sums, k.constant(held));
    g.st_global(given["most"_arg].at(row * parts + column / held), most[0]);
  });
  const Kernel kernel = k.build();
  launch::Contract c;
  const std::uint64_t m = M, n = N;
  c.buffers = {buffer("A", ScalarType::bf16, {m, K}, bytes_of(M, K, 1)),
               buffer("B", ScalarType::bf16, {n, K}, bytes_of(N, K, 5)), buffer("D", ScalarType::f32, {m, n}),
               buffer("most", ScalarType::f32, {m, std::uint64_t(parts)})};
  launch_kernel(c, kernel, list, {1, 1, 1}, "A"_arg = GlobalTensor{"A", m, K}, "B"_arg = GlobalTensor{"B", n, K},
                "D"_arg = "D", "most"_arg = "most");
  test::simulate(kernel, c);
  int wrong = wrong_products(c, M, N, K, 1);
  const auto number = [&](const char* name, int i) {
    float x;
    std::memcpy(&x, &c.find(name)->bytes[4 * std::size_t(i)], 4);
    return x;
  };
  for (int i = 0; i < M * parts; ++i) {
    float want = number("D", i * held);
    for (int j = 1; j < held; ++j) want = std::max(want, number("D", i * held + j));
    wrong += number("most", i) != want;
  }
  return wrong;
}

/// Each thread reads its row in parts that begin where the kernel says, and writes them elsewhere in the row; then 8
/// rows that the kernel chooses are a tile.
template <class Tile>
void computed_parts() {
  using T = typename Tile::element;
  constexpr int part = 256 / T::bits, parts = Tile::cols / part;
  constexpr auto list =
      parameters("in"_arg.is<TensorMap<Tile>>(), "out"_arg.is<TensorMap<Tile>>(), "rows"_arg.is<Pointer<T>>());
  KernelBuilder k("parts", sm_100a, warps<4>);
  const auto given = declare(k, list);
  const auto tile = k.shared<Tile>(), out = k.shared<Tile>();
  const auto full = k.mbarrier("full");
  k.role("move", warpgroup<0>, [&](Warpgroup& g) {
    g.elect([&](Thread t) {
      t.expect_tx(full, Tile::transaction_bytes);
      t.tma_load(tile, given["in"_arg].at(0, 0), full);
    });
    g.wait(full, Phase(0));
    const U32 row = g.row();
    g.loop(parts, [&](U32 i) {
      const auto values = g.template load_row<part>(tile, row, i * part);
      g.store_row(out, row, (row + i) % parts * part, values);
    });
    const auto eight = tile.template rows<8>(row / 8 * 8);
    g.store_global(given["rows"_arg].at(row * Tile::cols), g.load_row(eight, row % 8), k.constant(Tile::cols));
    store_tile(g, given["out"_arg], out);
  });
  const Kernel kernel = k.build();
  launch::Contract c;
  const std::size_t row_bytes = std::size_t(Tile::cols * T::bits / 8);
  std::vector<std::uint8_t> bytes(128 * row_bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::uint8_t(i * 7 % 61);
  const std::vector<std::uint64_t> shape{128, std::uint64_t(Tile::cols)};
  c.buffers = {buffer("in", T::scalar, shape, bytes), buffer("out", T::scalar, shape),
               buffer("rows", T::scalar, shape)};
  launch_kernel(c, kernel, list, {1, 1, 1}, "in"_arg = GlobalTensor{"in", 128, shape[1]},
                "out"_arg = GlobalTensor{"out", 128, shape[1]}, "rows"_arg = "rows");
  test::simulate(kernel, c);
  int wrong = 0;
  for (std::size_t r = 0; r < 128; ++r)
    for (std::size_t i = 0; i < std::size_t(parts); ++i) {
      const std::size_t to = (r + i) % std::size_t(parts);
      wrong += std::memcmp(&c.find("out")->bytes[r * row_bytes + to * 32], &bytes[r * row_bytes + i * 32], 32) != 0;
    }
  CHECK(wrong == 0);
  CHECK(c.find("rows")->bytes == bytes);
}

}  // namespace

TEST_CASE("parts of a row begin where the kernel says, whatever the tile's layout") {
  computed_parts<SharedTile<bf16, 128, 64, K_major, swizzle_128B>>();
  computed_parts<SharedTile<bf16, 128, 128, K_major, swizzle_128B>>();
  computed_parts<SharedTile<f32, 128, 32, K_major, swizzle_64B>>();
  computed_parts<SharedTile<e4m3, 128, 32, K_major, swizzle_32B>>();
  computed_parts<SharedTile<bf16, 128, 32, K_major, swizzle_none>>();
  computed_parts<SharedTile<bf16, 128, 48, K_major, packed>>();
}

TEST_CASE("columns of a tile that is contiguous along M are rows of the transposed one") {
  using Tile = SharedTile<bf16, 64, 128, MN_major, swizzle_128B>;
  constexpr auto list = parameters("in"_arg.is<TensorMap<Tile>>(), "columns"_arg.is<Pointer<bf16>>());
  KernelBuilder k("columns", sm_100a, warps<4>);
  const auto given = declare(k, list);
  const auto tile = k.shared<Tile>();
  const auto full = k.mbarrier("full");
  k.role("read", warpgroup<0>, [&](Warpgroup& g) {
    g.elect([&](Thread t) {
      t.expect_tx(full, Tile::transaction_bytes);
      t.tma_load(tile, given["in"_arg].at(0, 0), full);
    });
    g.wait(full, Phase(0));
    const auto column = g.load(tile.transposed());
    g.store_global(given["columns"_arg].at(g.row() * 64), column, k.constant(64));
    static_assert(std::is_same_v<decltype(tile.transposed().transposed()), Shared<Tile>>);
  });
  const Kernel kernel = k.build();
  launch::Contract c;
  // A tensor whose lines are columns of the tile.
  c.buffers = {buffer("in", ScalarType::bf16, {128, 64}, bytes_of(128, 64, 3)),
               buffer("columns", ScalarType::bf16, {128, 64})};
  launch_kernel(c, kernel, list, {1, 1, 1}, "in"_arg = GlobalTensor{"in", 64, 128}, "columns"_arg = "columns");
  test::simulate(kernel, c);
  CHECK(c.find("columns")->bytes == c.find("in")->bytes);
}

TEST_CASE("the greatest of what a thread holds of sums, of every M") {
  CHECK(wrong_greatest<tcgen05_mma<kind_f16, bf16, bf16, f32, 128, 64>>() == 0);
  CHECK(wrong_greatest<tcgen05_mma<kind_f16, bf16, bf16, f32, 64, 64>>() == 0);
  CHECK(wrong_greatest<tcgen05_mma<kind_f16, bf16, bf16, f32, 64, 128, weight_stationary>>() == 0);
  CHECK(wrong_greatest<tcgen05_mma<kind_f16, bf16, bf16, f32, 32, 128, weight_stationary>>() == 0);
}

TEST_CASE("rows of a tile of several spans are an operand: the lower half of A by the upper half of B") {
  using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, 128, 64>;
  using ATile = SharedTile<bf16, 256, 128, K_major, swizzle_128B>;
  using BTile = SharedTile<bf16, 128, 192, K_major, swizzle_128B>;
  constexpr auto list = parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(),
                                   "D"_arg.is<Pointer<f32>>());
  KernelBuilder k("halves", sm_100a, warps<4>);
  const auto given = declare(k, list);
  const auto a = k.shared<ATile>();
  const auto b = k.shared<BTile>();
  const auto loaded = k.mbarrier("loaded"), multiplied = k.mbarrier("multiplied");
  const auto acc = k.accumulator<Mma>("acc");
  k.role("sums", warpgroup<0>, [&](Warpgroup& g) {
    g.elect([&](Thread t) {
      t.expect_tx(loaded, ATile::transaction_bytes + BTile::transaction_bytes);
      t.tma_load(a, given["A"_arg].at(0, 0), loaded);
      t.tma_load(b, given["B"_arg].at(0, 0), loaded);
      t.wait(loaded, Phase{0});
      // Columns of rows, and rows of columns.
      t.mma_tiles<Mma>(acc, a.rows<192>(64).rows<128>(64), b.columns<128>(64).rows<64>(0), accumulate(false));
      t.commit(multiplied);
    });
    g.wait(multiplied, Phase{0});
    g.store_global(given["D"_arg].at(g.row() * Mma::N), g.wait(g.load(acc)), k.constant(Mma::N));
  });
  const Kernel kernel = k.build();
  launch::Contract c;
  c.buffers = {buffer("A", ScalarType::bf16, {256, 128}, bytes_of(256, 128, 1)),
               buffer("B", ScalarType::bf16, {128, 192}, bytes_of(128, 192, 5)),
               buffer("D", ScalarType::f32, {128, 64})};
  launch_kernel(c, kernel, list, {1, 1, 1}, "A"_arg = GlobalTensor{"A", 256, 128},
                "B"_arg = GlobalTensor{"B", 128, 192}, "D"_arg = "D");
  test::simulate(kernel, c);
  int wrong = 0;
  for (int m = 0; m < 128; ++m)
    for (int n = 0; n < 64; ++n) {
      double want = 0;
      for (int i = 0; i < 128; ++i) want += value(128 + m, i, 1) * value(n, 64 + i, 5);
      float got;
      std::memcpy(&got, &c.find("D")->bytes[4 * std::size_t(m * 64 + n)], 4);
      wrong += double(got) != want;
    }
  CHECK(wrong == 0);
  static_assert(std::is_same_v<decltype(a.rows<64>(0).columns<64>(0)),
                               Shared<SharedTile<bf16, 64, 64, K_major, swizzle_128B>>>);
  static_assert(std::is_same_v<decltype(a.rows<256>(0)), Shared<ATile>>);
}

TEST_CASE("slices of a tile are tiles") {
  using Tile = SharedTile<bf16, 128, 128, K_major, swizzle_128B>;
  using Narrow = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
  KernelBuilder k("slices", sm_100a, warps<4>);
  const auto tile = k.shared<Tile>();
  const auto narrow = k.shared<Narrow>();
  const Shared<Narrow> right = tile.columns<64>(64);
  const Shared<SharedTile<bf16, 32, 64, K_major, swizzle_128B>> lower = narrow.rows<32>(96);
  k.role("r", warpgroup<0>, [&](Warpgroup& g) { g.store(right, g.load(narrow)), (void)lower; });
  const std::string ptx = emit::emit_unverified(k.build().module);
  CHECK(ptx.find("add.u32 %r") != std::string::npos);
  CHECK(ptx.find(std::to_string(Tile::block_bytes) + ";") != std::string::npos);
}

}  // namespace dsl_memory
