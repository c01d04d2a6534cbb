// The vector kernel must give `dot`'s word for every element, on every vector unit, for any operands.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "ptx/num/gemm_kernel.hpp"

using namespace kiln::num;

namespace {

using Random = std::mt19937_64;
using Words = std::vector<std::uint32_t>;

std::vector<VectorUnit> units() {
  std::vector<VectorUnit> all;
  for (VectorUnit unit : {VectorUnit::portable, VectorUnit::avx2, VectorUnit::avx512})
    if (GemmKernel(unit).unit() == unit) all.push_back(unit);
  return all;
}

// Operands of one task, as 32-bit words and in the containers that the kernel reads.
struct Case {
  DotSpec spec;
  int m = 8, n = 80, steps = 1;
  Words a, b, d;
  std::vector<std::uint8_t> scale_a, scale_b;

  int k() const { return steps * dense_k(spec.kind); }
};

template <class T>
std::vector<T> narrow(const Words& words) {
  return {words.begin(), words.end()};
}

Words expected(const Case& c) {
  Words d = c.d;
  const auto k = static_cast<std::size_t>(dense_k(c.spec.kind)), row = static_cast<std::size_t>(c.k());
  const auto scales = static_cast<std::size_t>(c.spec.scale_vector), steps = static_cast<std::size_t>(c.steps);
  for (std::size_t i = 0; i < static_cast<std::size_t>(c.m); ++i)
    for (std::size_t j = 0; j < static_cast<std::size_t>(c.n); ++j)
      for (std::size_t s = 0; s < steps; ++s) {
        DotSides sides;
        if (scales)
          sides = {{&c.scale_a[i * steps * scales + s * scales], scales},
                   {&c.scale_b[j * steps * scales + s * scales], scales},
                   {}};
        std::uint32_t& out = d[i * static_cast<std::size_t>(c.n) + j];
        DotSpec spec = c.spec;
        spec.read_c |= s > 0;
        out = dot(spec, std::span(c.a).subspan(i * row + s * k, k), std::span(c.b).subspan(j * row + s * k, k), out,
                  sides);
      }
  return d;
}

Words computed(const Case& c, VectorUnit unit, GemmCounters* counters = nullptr,
               Arithmetic arithmetic = Arithmetic::exact) {
  const auto a8 = narrow<std::uint8_t>(c.a), b8 = narrow<std::uint8_t>(c.b);
  const auto a16 = narrow<std::uint16_t>(c.a), b16 = narrow<std::uint16_t>(c.b);
  const auto pick = [](int bits, const void* w8, const void* w16, const void* w32) {
    return bits == 32 ? w32 : bits == 16 ? w16 : w8;
  };
  const auto stride = static_cast<std::size_t>(c.k()), scales = static_cast<std::size_t>(c.steps * c.spec.scale_vector);
  Words d = c.d;
  GemmTask task{.spec = c.spec, .m = c.m, .n = c.n, .k = c.k(), .arithmetic = arithmetic};
  task.a = {pick(kiln::isa::bits(c.spec.a), a8.data(), a16.data(), c.a.data()), stride, c.scale_a.data(), scales};
  task.b = {pick(kiln::isa::bits(c.spec.b), b8.data(), b16.data(), c.b.data()), stride, c.scale_b.data(), scales};
  task.d = d.data();
  task.d_stride = static_cast<std::size_t>(c.n);
  GemmKernel kernel(unit);
  kernel.run(task);
  if (counters) *counters = kernel.counters();
  return d;
}

void check(const Case& c) {
  const Words want = expected(c);
  for (VectorUnit unit : units()) {
    CAPTURE(static_cast<int>(unit));
    const Words got = computed(c, unit);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < want.size(); ++i)
      if (got[i] != want[i] && wrong++ == 0) {
        CAPTURE(i);
        CHECK(got[i] == want[i]);
      }
    CHECK(wrong == 0);
  }
}

using Source = std::function<std::uint32_t(Random&, ScalarType)>;

Case make(const DotSpec& spec, const Source& operand, const Source& c_word, Random& random, int m = 8, int n = 80,
          int steps = 1) {
  Case c{.spec = spec, .m = m, .n = n, .steps = steps, .a = {}, .b = {}, .d = {}, .scale_a = {}, .scale_b = {}};
  for (int i = 0; i < m * c.k(); ++i) c.a.push_back(operand(random, spec.a));
  for (int i = 0; i < n * c.k(); ++i) c.b.push_back(operand(random, spec.b));
  for (int i = 0; i < m * n; ++i) c.d.push_back(c_word(random, ScalarType::f32));
  for (int i = 0; i < m * steps * spec.scale_vector; ++i)
    c.scale_a.push_back(static_cast<std::uint8_t>(random() % 40 + 107));
  for (int i = 0; i < n * steps * spec.scale_vector; ++i)
    c.scale_b.push_back(static_cast<std::uint8_t>(random() % 40 + 107));
  return c;
}

std::uint32_t word_of(ScalarType type, double value) {
  return static_cast<std::uint32_t>(encode(type, value, Rounding::rn, true));
}

std::uint32_t any_bits(Random& random, ScalarType type) {
  const int bits = kiln::isa::bits(type);
  return static_cast<std::uint32_t>(random()) & (bits == 32 ? 0xFFFFFFFFu : (1u << bits) - 1);
}
std::uint32_t normal(Random& random, ScalarType type) {
  return word_of(type == ScalarType::tf32 ? ScalarType::f32 : type, std::normal_distribution<>()(random));
}
std::uint32_t small_integer(Random& random, ScalarType type) {
  return word_of(type == ScalarType::tf32 ? ScalarType::f32 : type, static_cast<double>(random() % 7) - 3);
}
// Their sums often cancel, and their unit is far above any small C.
std::uint32_t big_integer(Random& random, ScalarType type) {
  const double value = static_cast<double>(random() % 5) - 2;
  const int scale = format_of(type).exponent_bits == 8 ? 30 : 2;
  return random() % 4 ? 0 : word_of(type == ScalarType::tf32 ? ScalarType::f32 : type, std::ldexp(value, scale));
}
std::uint32_t subnormal(Random& random, ScalarType type) {
  const Format f = format_of(type);
  return static_cast<std::uint32_t>(random() % 4) << f.ignored_bits;
}
// Mostly ordinary values, with exponents anywhere and a few zeros.
std::uint32_t wide(Random& random, ScalarType type) {
  const double magnitude =
      std::ldexp(1 + static_cast<double>(random() % 1024) / 1024, static_cast<int>(random() % 120) - 60);
  return random() % 8 == 0
             ? 0
             : word_of(type == ScalarType::tf32 ? ScalarType::f32 : type, random() % 2 ? magnitude : -magnitude);
}
std::uint32_t tiny(Random& random, ScalarType type) {
  const double magnitude =
      std::ldexp(1 + static_cast<double>(random() % 256) / 256, -static_cast<int>(random() % 20) - 58);
  return word_of(type == ScalarType::tf32 ? ScalarType::f32 : type, random() % 2 ? magnitude : -magnitude);
}
std::uint32_t largest(Random& random, ScalarType type) {
  const double value = to_double(type, format_of(type).max_finite() << format_of(type).ignored_bits);
  return word_of(type == ScalarType::tf32 ? ScalarType::f32 : type, random() % 64 ? value : -value);
}
// All products near four times the power of their exponents: the grid sum comes closest to 2^31.
std::uint32_t full_mantissa(Random&, ScalarType type) {
  return word_of(type == ScalarType::tf32 ? ScalarType::f32 : type,
                 2 - std::ldexp(1.0, -format_of(type).fraction_bits));
}
std::uint32_t specials(Random& random, ScalarType type) {
  if (random() % 40) return normal(random, type);
  const std::uint32_t nan_or_inf[] = {0x7F800000, 0xFF800000, 0x7FC00000, 0x80000000, 0, 1};
  const std::uint32_t word = nan_or_inf[random() % 6];
  const double value = to_double(ScalarType::f32, word);
  return static_cast<std::uint32_t>(encode(type == ScalarType::tf32 ? ScalarType::f32 : type, value));
}
std::uint32_t zero(Random& random, ScalarType) { return random() % 2 ? 0x80000000 : 0; }

std::vector<DotSpec> vector_specs() {
  using enum ScalarType;
  return {{.kind = MmaKind::f16, .a = bf16, .b = bf16},
          {.kind = MmaKind::f16, .a = f16, .b = f16, .negate_a = true},
          {.kind = MmaKind::tf32, .a = tf32, .b = tf32, .scale_input_d = 3},
          {.kind = MmaKind::f8f6f4, .a = e4m3, .b = e5m2, .negate_b = true},
          {.kind = MmaKind::f8f6f4, .a = e2m1, .b = e3m2},
          {.kind = MmaKind::f8f6f4, .a = e2m3, .b = e4m3, .read_c = false},
          {.kind = MmaKind::mxf8f6f4, .a = e5m2, .b = e4m3, .scale = ue8m0, .scale_vector = 1}};
}

// One instruction of a chain, on what the one before left.
Case instruction(const Case& c, int step, const Words& d) {
  Case one = c;
  one.steps = 1;
  one.d = d;
  one.spec.read_c |= step > 0;
  const auto cut = [&](auto& all, int rows, int k) {
    auto out = all;
    out.clear();
    for (int row = 0; row < rows; ++row) {
      const auto first = all.begin() + (row * c.steps + step) * k;
      out.insert(out.end(), first, first + k);
    }
    return out;
  };
  one.a = cut(c.a, c.m, dense_k(c.spec.kind));
  one.b = cut(c.b, c.n, dense_k(c.spec.kind));
  one.scale_a = cut(c.scale_a, c.m, c.spec.scale_vector);
  one.scale_b = cut(c.scale_b, c.n, c.spec.scale_vector);
  return one;
}

}  // namespace

TEST_CASE("the kernel equals dot on every kind of operand and C") {
  Random random(1);
  const Source sources[] = {any_bits, normal, small_integer, big_integer,   subnormal,
                            wide,     tiny,   largest,       full_mantissa, specials};
  const Source cs[] = {any_bits, normal, small_integer, big_integer, subnormal, wide, tiny, zero, specials};
  for (const DotSpec& spec : vector_specs())
    for (std::size_t o = 0; o < std::size(sources); ++o)
      for (std::size_t c = 0; c < std::size(cs); ++c) {
        CAPTURE(static_cast<int>(spec.kind));
        CAPTURE(o);
        CAPTURE(c);
        check(make(spec, sources[o], cs[c], random));
      }
}

TEST_CASE("the kernel equals dot through a chain of instructions, and at every edge of a tile") {
  Random random(2);
  for (const auto& shape : {std::pair{1, 8}, {4, 64}, {5, 72}, {7, 63}, {12, 128}})
    for (const DotSpec& spec : vector_specs()) {
      CAPTURE(shape.first);
      CAPTURE(static_cast<int>(spec.a));
      check(make(spec, normal, normal, random, shape.first, shape.second, 4));
    }
}

TEST_CASE("a chain equals dot where plain sums are proven, and just beyond") {
  Random random(10);
  const DotSpec specs[] = {{.kind = MmaKind::f16, .a = ScalarType::bf16, .b = ScalarType::bf16},
                           {.kind = MmaKind::tf32, .a = ScalarType::tf32, .b = ScalarType::tf32}};
  for (const DotSpec& spec : specs)
    for (int bits = 4; bits <= 13; ++bits)
      for (int step = 0; step < 4; ++step)
        for (bool alternate : {false, true}) {
          CAPTURE(bits);
          CAPTURE(step);
          // Odd sums up to 2^23 units and C near 2^23 of them; one step's factors are so large, the others' small, or
          // 0.
          Case c = make(spec, small_integer, zero, random, 5, 72, 4);
          const auto k = static_cast<std::size_t>(dense_k(spec.kind)), row = 4 * k,
                     first = static_cast<std::size_t>(step) * k;
          const ScalarType type = spec.a == ScalarType::tf32 ? ScalarType::f32 : spec.a;
          for (Words* words : {&c.a, &c.b})
            for (std::size_t i = 0; i < words->size(); ++i)
              if (i % row / k == first / k)
                (*words)[i] =
                    word_of(type, std::ldexp(1.0, words == &c.a ? bits : 8) - (bits <= 8 && i % k == 0 ? 1 : 0));
              else if (alternate)
                (*words)[i] = 0;
          for (std::uint32_t& d : c.d)
            d = word_of(ScalarType::f32,
                        std::ldexp(1.0, 22 + static_cast<int>(random() % 3)) - static_cast<double>(random() % 4));
          check(c);
        }
}

TEST_CASE("a chain in fast arithmetic leaves what its instructions leave one by one") {
  Random random(9);
  const Source sources[] = {normal, wide, specials, subnormal};
  const Source cs[] = {normal, specials, zero};
  for (const DotSpec& spec : vector_specs())
    for (const Source& source : sources)
      for (const Source& c_word : cs)
        for (VectorUnit unit : units()) {
          CAPTURE(static_cast<int>(spec.a));
          CAPTURE(static_cast<int>(unit));
          const Case c = make(spec, source, c_word, random, 37, 75, 3);
          Words d = c.d;
          for (int step = 0; step < c.steps; ++step)
            d = computed(instruction(c, step, d), unit, nullptr, Arithmetic::fast);
          CHECK(computed(c, unit, nullptr, Arithmetic::fast) == d);
        }
}

TEST_CASE("rows and columns of very different magnitude are exact") {
  Random random(3);
  for (int round = 0; round < 20; ++round) {
    Case c = make({}, normal, normal, random, 8, 64);
    for (std::size_t i = 0; i < c.a.size(); ++i)
      c.a[i] = word_of(ScalarType::bf16,
                       std::ldexp(to_double(ScalarType::bf16, c.a[i]), static_cast<int>(i / 16 * 29 % 200) - 100));
    for (std::size_t i = 0; i < c.b.size(); ++i)
      c.b[i] = word_of(ScalarType::bf16,
                       std::ldexp(to_double(ScalarType::bf16, c.b[i]), static_cast<int>(i / 16 * 17 % 200) - 100));
    check(c);
  }
}

TEST_CASE("an infinity times a row of zeros is NaN") {
  Case c{.spec = {},
         .m = 4,
         .n = 64,
         .steps = 1,
         .a = Words(64),
         .b = Words(1024, 0x3F80),
         .d = Words(256),
         .scale_a = {},
         .scale_b = {}};
  for (std::size_t column = 0; column < 64; column += 3) c.b[column * 16 + column % 16] = 0x7F80;
  for (std::size_t k = 0; k < 16; ++k) c.b[5 * 16 + k] = 0xFF80;
  check(c);
  std::swap(c.a, c.b);
  std::swap(c.m, c.n);
  check(c);
}

TEST_CASE("a proof looks at encoded exponents, which subnormals keep high") {
  using enum ScalarType;
  // 2^-24 is a subnormal f16 with exponent -14, so its product with 2^-16 falls below the grid of its product with 1.
  Case c{.spec = {.a = f16, .b = f16},
         .m = 4,
         .n = 64,
         .steps = 1,
         .a = Words(64, 1),
         .b = {},
         .d = Words(256),
         .scale_a = {},
         .scale_b = {}};
  for (std::size_t i = 0; i < 1024; ++i) c.b.push_back(i % 3 ? 0x0100 : 0x3C00);
  check(c);
}

TEST_CASE("random normal operands are almost never redone and integers are proven") {
  Random random(4);
  GemmCounters counters;
  const Case ordinary = make({}, normal, normal, random, 128, 256);
  computed(ordinary, VectorUnit::automatic, &counters);
  CHECK(counters.redone == 0);
  CHECK(counters.proven == 0);
  const Case integers = make({}, small_integer, small_integer, random, 128, 256);
  computed(integers, VectorUnit::automatic, &counters);
  CHECK(counters.proven == counters.elements);
  const Case chain = make({}, small_integer, small_integer, random, 128, 256, 4);
  computed(chain, VectorUnit::automatic, &counters);
  CHECK(counters.elements == 4 * 128 * 256);
  CHECK(counters.proven == counters.elements);
}

TEST_CASE("fast arithmetic agrees with exact to f32 accuracy and on all vector units") {
  Random random(5);
  const Case c = make({}, normal, normal, random, 16, 128, 4);
  const Words exact = computed(c, VectorUnit::automatic);
  const Words fast = computed(c, VectorUnit::portable, nullptr, Arithmetic::fast);
  for (std::size_t i = 0; i < exact.size(); ++i)
    CHECK(to_double(ScalarType::f32, fast[i]) == doctest::Approx(to_double(ScalarType::f32, exact[i])).epsilon(1e-4));
  for (VectorUnit unit : units()) CHECK(computed(c, unit, nullptr, Arithmetic::fast) == fast);
}

TEST_CASE("specs without a vector path go through dot") {
  Random random(6);
  using enum ScalarType;
  const DotSpec spec{.kind = MmaKind::f16, .a = f16, .b = f16, .d = f16};
  CHECK_FALSE(has_vector_path(spec));
  check(make(spec, any_bits, small_integer, random, 3, 9, 2));
}

TEST_CASE("integers of any bytes wrap, or saturate at each instruction, on every unit") {
  Random random(7);
  using enum ScalarType;
  for (const ScalarType a : {s8, u8})
    for (const ScalarType b : {s8, u8})
      for (const bool saturate : {false, true})
        for (const bool read_c : {false, true}) {
          const DotSpec spec{
              .kind = MmaKind::i8, .a = a, .b = b, .d = s32, .saturate = saturate, .read_c = read_c};
          REQUIRE(has_vector_path(spec));
          check(make(spec, any_bits, any_bits, random, 7, 67, 11));
        }
}

TEST_CASE("sums of the largest bytes are exact, and cross the end of s32 where C is there") {
  Random random(8);
  using enum ScalarType;
  const Source largest = [](Random&, ScalarType) { return 0xFFu; };
  for (const bool saturate : {false, true}) {
    Case c = make({.kind = MmaKind::i8, .a = u8, .b = u8, .d = s32, .saturate = saturate}, largest, largest, random, 4,
                  64, 9);
    for (std::size_t i = 0; i < c.d.size(); ++i) c.d[i] = i % 2 ? 0x7FFFFFF0u : 0x7FE00000u + std::uint32_t(i);
    check(c);
  }
}
