// The integer loop of the fp4 kinds must give `dot`'s word for every element, on every vector unit.
#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "ptx/num/gemm_kernel.hpp"

namespace num_fp4_kernel {

using namespace kiln::num;

namespace {

using Random = std::mt19937_64;
using Bytes = std::vector<std::uint8_t>;
using Words = std::vector<std::uint32_t>;

// How operands are drawn: `zeros` of eight elements are zero, scales lie in [low, high].
struct Draw {
  unsigned zeros = 0;
  unsigned low = 0, high = 255;
  enum class C { any, zero, ordinary, tiny } c = C::any;
};

struct Case {
  DotSpec spec;
  std::size_t m = 0, n = 0, steps = 1;
  Bytes a, b, scale_a, scale_b;
  Words metadata, d;

  std::size_t stored() const { return std::size_t(stored_k(spec)); }
  std::size_t columns() const { return spec.sparse ? 2 * stored() : stored(); }
  std::size_t words() const { return spec.sparse ? stored() / 4 / 8 : 0; }
  std::size_t scales() const { return std::size_t(spec.scale_vector); }
};

std::uint32_t draw_c(Random& random, Draw::C how) {
  const auto word = static_cast<std::uint32_t>(random());
  switch (how) {
    case Draw::C::zero: return word & 0x80000000;
    case Draw::C::ordinary: return (word & 0x80FFFFFF) | (60u + word % 128) << 23;
    case Draw::C::tiny: return word & 0x817FFFFF;
    case Draw::C::any: break;
  }
  return word;
}

Case make(const DotSpec& spec, const Draw& draw, Random& random, std::size_t m, std::size_t n, std::size_t steps) {
  Case c{.spec = spec,
         .m = m,
         .n = n,
         .steps = steps,
         .a = {},
         .b = {},
         .scale_a = {},
         .scale_b = {},
         .metadata = {},
         .d = {}};
  const auto fill = [&](Bytes& out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      out.push_back(random() % 8 < draw.zeros ? std::uint8_t(random() & 8) : std::uint8_t(random() & 15));
  };
  const auto scale = [&](Bytes& out, std::size_t rows) {
    for (std::size_t i = 0; i < rows * steps * c.scales(); ++i)
      out.push_back(std::uint8_t(draw.low + random() % (draw.high - draw.low + 1)));
  };
  fill(c.a, m * steps * c.stored());
  fill(c.b, n * steps * c.columns());
  scale(c.scale_a, m);
  scale(c.scale_b, n);
  constexpr std::uint32_t kept[] = {4, 8, 9, 12, 13, 14};  // two of four pairs
  for (std::size_t i = 0; i < m * steps * c.words(); ++i) {
    std::uint32_t word = 0;
    for (int nibble = 0; nibble < 8; ++nibble) word |= kept[random() % 6] << 4 * nibble;
    c.metadata.push_back(word);
  }
  for (std::size_t i = 0; i < m * n; ++i) c.d.push_back(draw_c(random, draw.c));
  return c;
}

Words expected(const Case& c) {
  Words d = c.d;
  const auto widened = [](const Bytes& all, std::size_t first, std::size_t count) {
    return Words(all.begin() + std::ptrdiff_t(first), all.begin() + std::ptrdiff_t(first + count));
  };
  for (std::size_t i = 0; i < c.m; ++i)
    for (std::size_t s = 0; s < c.steps; ++s) {
      const std::size_t at = i * c.steps + s;
      DotSpec spec = c.spec;
      spec.read_c |= s > 0;
      const Words a = widened(c.a, at * c.stored(), c.stored());
      for (std::size_t j = 0; j < c.n; ++j) {
        const std::size_t there = j * c.steps + s;
        const Words b = widened(c.b, there * c.columns(), c.columns());
        const DotSides sides{std::span(c.scale_a).subspan(at * c.scales(), c.scales()),
                             std::span(c.scale_b).subspan(there * c.scales(), c.scales()),
                             std::span(c.metadata).subspan(at * c.words(), c.words())};
        d[i * c.n + j] = dot(spec, a, b, d[i * c.n + j], sides);
      }
    }
  return d;
}

GemmCounters run(const Case& c, VectorUnit unit, Words& d) {
  GemmTask task{.spec = c.spec, .m = int(c.m), .n = int(c.n), .k = int(c.steps * c.columns())};
  task.a = {c.a.data(), c.steps * c.stored(), c.scale_a.data(), c.steps * c.scales()};
  task.b = {c.b.data(), c.steps * c.columns(), c.scale_b.data(), c.steps * c.scales()};
  task.metadata = c.metadata.data();
  task.metadata_stride = c.steps * c.words();
  d = c.d;
  task.d = d.data();
  task.d_stride = c.n;
  GemmKernel kernel(unit);
  kernel.run(task);
  return kernel.counters();
}

void check(const Case& c) {
  const Words want = expected(c);
  for (VectorUnit unit : {VectorUnit::portable, VectorUnit::avx2, VectorUnit::avx512}) {
    if (GemmKernel(unit).unit() != unit) continue;
    CAPTURE(int(unit));
    Words got;
    run(c, unit, got);
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = want.size(); i-- > 0;)
      if (got[i] != want[i]) ++wrong, first = i;
    CAPTURE(first);
    CHECK(wrong == 0);
    CHECK(got[first] == want[first]);
  }
}

std::vector<DotSpec> specs() {
  using enum ScalarType;
  std::vector<DotSpec> all;
  const auto add = [&](MmaKind kind, ScalarType scale, int vector) {
    all.push_back({.kind = kind, .a = e2m1, .b = e2m1, .scale = scale, .scale_vector = vector});
  };
  add(MmaKind::mxf4, ue8m0, 2);
  add(MmaKind::mxf4nvf4, ue8m0, 4);
  add(MmaKind::mxf4nvf4, ue4m3, 4);
  add(MmaKind::mxf4nvf4, ue4m3, 2);
  for (std::size_t k = all.size(); k-- > 0;) {
    DotSpec s = all[k];
    s.sparse = true;
    s.negate_b = true;
    all.push_back(s);
    s = all[k];
    s.k96 = true;
    s.scale_vector = s.scale_vector / 2 * 3;
    s.negate_a = true;
    s.read_c = k % 2 == 0;
    all.push_back(s);
  }
  all.push_back(all[0]);
  all.back().scale_input_d = 5;
  return all;
}

}  // namespace

TEST_CASE("the fp4 loop equals dot for every scale, C and density") {
  Random random(1);
  const Draw draws[] = {
      {0, 0, 255, Draw::C::any},        {0, 0x28, 0x40, Draw::C::ordinary}, {7, 0, 255, Draw::C::ordinary},
      {7, 100, 140, Draw::C::any},      {8, 0, 254, Draw::C::ordinary},     {7, 0, 16, Draw::C::tiny},
      {4, 0, 40, Draw::C::zero},        {0, 50, 70, Draw::C::tiny},         {6, 0, 126, Draw::C::any},
      {2, 200, 254, Draw::C::ordinary}, {7, 120, 126, Draw::C::ordinary}};
  for (const DotSpec& spec : specs())
    for (std::size_t k = 0; k < std::size(draws); ++k) {
      CAPTURE(int(spec.kind));
      CAPTURE(spec.scale_vector);
      CAPTURE(spec.sparse);
      CAPTURE(k);
      check(make(spec, draws[k], random, 12, 130, 1));
    }
}

TEST_CASE("the fp4 loop equals dot through a chain of instructions, and at every edge of a tile") {
  Random random(2);
  for (const auto& shape : {std::pair{1, 8}, {4, 64}, {5, 72}, {7, 63}, {68, 65}})
    for (const DotSpec& spec : specs()) {
      CAPTURE(shape.first);
      CAPTURE(shape.second);
      check(make(spec, {1, 0x30, 0x48, Draw::C::ordinary}, random, std::size_t(shape.first), std::size_t(shape.second),
                 3));
    }
}

TEST_CASE("largest and smallest scales stay exact in the fp4 loop") {
  Random random(3);
  for (const DotSpec& spec : specs())
    for (const unsigned scale : {0u, 1u, 8u, 126u, 127u, 190u, 254u}) {
      CAPTURE(scale);
      Case c = make(spec, {0, scale, scale, Draw::C::zero}, random, 4, 64, 1);
      check(c);
      for (std::uint8_t& e : c.a) e = 7;  // the largest element everywhere
      for (std::uint8_t& e : c.b) e = 15;
      check(c);
    }
}

TEST_CASE("ordinary fp4 operands are never redone") {
  Random random(4);
  for (const DotSpec& spec : specs()) {
    Words d;
    const Case c = make(spec, {1, 0x30, 0x48, Draw::C::zero}, random, 32, 128, 2);
    if (spec.scale == ScalarType::ue4m3) CHECK(run(c, VectorUnit::automatic, d).redone == 0);
    CHECK(has_vector_path(spec));
  }
}

}  // namespace num_fp4_kernel
