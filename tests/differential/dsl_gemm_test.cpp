// The DSL against plain arithmetic: one small GEMM for every tile layout, element type and major, written in the DSL,
// verified, emitted, parsed back and simulated. Operands are small integers, so every engine must agree exactly.
#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

#include "dsl/dsl.hpp"
#include "emit/emit.hpp"
#include "ptx/diag/render.hpp"
#include "ptx/num/format.hpp"
#include "ptx/parse/parse.hpp"
#include "sim/simulate.hpp"
#include "verifier/verify.hpp"

using namespace kiln;
using namespace kiln::dsl;

namespace {

constexpr int k_total = 128;

// One CTA, one warpgroup, one tile of D; K in steps of the tile's K; D goes out as f32 rows.
template <class ATile, class BTile>
struct Gemm {
  static constexpr int M = ATile::rows, N = BTile::rows, K = ATile::cols;
  static constexpr auto list = parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(),
                                          "D"_arg.is<Pointer<f32>>());

  static Kernel build() {
    KernelBuilder gemm("gemm", sm_100a, warps<4>);
    const auto given = declare(gemm, list);
    auto a = gemm.shared<ATile>();
    auto b = gemm.shared<BTile>();
    auto loaded = gemm.mbarrier("loaded");
    auto multiplied = gemm.mbarrier("multiplied");
    auto acc = gemm.tmem<f32, M, N>("acc");
    gemm.role("tile", warpgroup<0>, [&](Warpgroup& g) {
      g.loop(k_total / K, [&](U32 i) {
        const Phase phase(i & 1);
        g.elect([&](Thread t) {
          t.expect_tx(loaded, ATile::transaction_bytes + BTile::transaction_bytes);
          t.tma_load(a, given["A"_arg].at(0, i * K), loaded);
          t.tma_load(b, given["B"_arg].at(0, i * K), loaded);
          t.wait(loaded, phase);
          for (int k = 0; k < K; k += 16) t.mma(acc, a.k_slice(k), b.k_slice(k), accumulate(i != 0 || k != 0));
          t.commit(multiplied);
        });
        g.wait(multiplied, phase);
      });
      auto sums = g.wait(g.load(acc));
      g.store_global(given["D"_arg].at(widen(g.row() * N)), sums, gemm.constant(N));
    });
    return gemm.build();
  }
};

struct Matrix {
  std::vector<double> values;  // [mn][k]
  std::vector<std::uint8_t> bytes;
};

// Small integers; MN-major matrices lie in memory with mn contiguous.
Matrix matrix(int mn, bool k_major, ScalarType type, unsigned seed) {
  Matrix m;
  std::mt19937 random(seed);
  m.values.resize(std::size_t(mn) * k_total);
  m.bytes.resize(m.values.size() * 2);
  for (int r = 0; r < mn; ++r)
    for (int k = 0; k < k_total; ++k) {
      const double v = double(int(random() % 9)) - 4;
      m.values[std::size_t(r) * k_total + std::size_t(k)] = v;
      const auto word = std::uint16_t(num::encode(type, v));
      const std::size_t at = k_major ? std::size_t(r) * k_total + std::size_t(k) : std::size_t(k) * std::size_t(mn) + std::size_t(r);
      std::memcpy(&m.bytes[2 * at], &word, 2);
    }
  return m;
}

launch::Buffer buffer(const char* name, ScalarType type, std::vector<std::uint64_t> shape, std::vector<std::uint8_t> bytes) {
  launch::Buffer b;
  b.name = name;
  b.dtype = type;
  b.shape = std::move(shape);
  b.bytes = std::move(bytes);
  if (!b.bytes.empty()) b.init.kind = launch::Init::Kind::hex;
  else b.bytes.resize(b.size());
  return b;
}

// Elements of D that differ from A * B^T; -1 with the findings printed when a stage fails.
template <class ATile, class BTile>
int wrong_elements() {
  using G = Gemm<ATile, BTile>;
  const Kernel kernel = G::build();
  diag::Sink sink;
  const auto verified = verifier::verify(kernel.module, sink);
  INFO(diag::render_text(sink));
  REQUIRE(verified);
  REQUIRE(sink.all().empty());
  const ir::Module module = parse::parse(std::make_shared<const diag::Source>("gemm.ptx", emit::emit(*verified)), sink);

  const auto type = ATile::element::scalar;
  const Matrix a = matrix(G::M, ATile::order == Major::K, type, 1), b = matrix(G::N, BTile::order == Major::K, type, 2);
  launch::Contract c;
  c.buffers = {buffer("A", type, {std::uint64_t(G::M), k_total}, a.bytes),
               buffer("B", type, {std::uint64_t(G::N), k_total}, b.bytes),
               buffer("D", ScalarType::f32, {std::uint64_t(G::M), std::uint64_t(G::N)}, {})};
  launch_kernel(c, kernel, G::list, {1, 1, 1}, "A"_arg = GlobalTensor{"A", std::uint64_t(G::M), k_total},
                "B"_arg = GlobalTensor{"B", std::uint64_t(G::N), k_total}, "D"_arg = std::string("D"));
  const sim::Result result = sim::simulate(module, c, {}, sink);
  INFO(diag::render_text(sink));
  REQUIRE(result.outcome == sim::Outcome::finished);
  REQUIRE(sink.all().empty());

  int wrong = 0;
  for (int m = 0; m < G::M; ++m)
    for (int n = 0; n < G::N; ++n) {
      double want = 0;
      for (int k = 0; k < k_total; ++k)
        want += a.values[std::size_t(m * k_total + k)] * b.values[std::size_t(n * k_total + k)];
      float got;
      std::memcpy(&got, &c.find("D")->bytes[4 * std::size_t(m * G::N + n)], 4);
      wrong += double(got) != want;
    }
  return wrong;
}

template <class T, int MN, int K, Major major, Layout layout>
using Tile = SharedTile<T, MN, K, major, layout>;

}  // namespace

TEST_CASE("every K-major layout multiplies right") {
  CHECK(wrong_elements<Tile<bf16, 128, 64, K_major, swizzle_128B>, Tile<bf16, 64, 64, K_major, swizzle_128B>>() == 0);
  CHECK(wrong_elements<Tile<bf16, 128, 128, K_major, swizzle_128B>, Tile<bf16, 32, 128, K_major, swizzle_128B>>() == 0);
  CHECK(wrong_elements<Tile<bf16, 128, 32, K_major, swizzle_64B>, Tile<bf16, 32, 32, K_major, swizzle_64B>>() == 0);
  CHECK(wrong_elements<Tile<bf16, 128, 64, K_major, swizzle_32B>, Tile<bf16, 32, 64, K_major, swizzle_32B>>() == 0);
  CHECK(wrong_elements<Tile<bf16, 128, 32, K_major, swizzle_none>, Tile<bf16, 16, 32, K_major, swizzle_none>>() == 0);
}

TEST_CASE("every MN-major layout multiplies right") {
  CHECK(wrong_elements<Tile<bf16, 128, 32, MN_major, swizzle_128B>, Tile<bf16, 64, 32, MN_major, swizzle_128B>>() == 0);
  CHECK(wrong_elements<Tile<bf16, 128, 32, MN_major, swizzle_64B>, Tile<bf16, 32, 32, MN_major, swizzle_64B>>() == 0);
  CHECK(wrong_elements<Tile<bf16, 128, 64, MN_major, swizzle_32B>, Tile<bf16, 32, 64, MN_major, swizzle_32B>>() == 0);
  CHECK(wrong_elements<Tile<bf16, 128, 32, MN_major, swizzle_none>, Tile<bf16, 16, 32, MN_major, swizzle_none>>() == 0);
}

TEST_CASE("A and B may differ in major and swizzle, and f16 works as bf16 does") {
  CHECK(wrong_elements<Tile<bf16, 128, 64, K_major, swizzle_128B>, Tile<bf16, 64, 64, MN_major, swizzle_128B>>() == 0);
  CHECK(wrong_elements<Tile<f16, 128, 64, MN_major, swizzle_64B>, Tile<f16, 128, 64, K_major, swizzle_32B>>() == 0);
  CHECK(wrong_elements<Tile<f16, 128, 64, K_major, swizzle_128B>, Tile<f16, 8, 64, K_major, swizzle_128B>>() == 0);
}
