// The vector kernel must give `dot`'s word for every element, on every vector unit, for any operands.
#include "tests/unit/num/gemm_case.hpp"

namespace num_gemm_kernel {

using namespace kiln::num;
using namespace kiln::num::test;

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
          const auto k = static_cast<std::size_t>(mma_k(spec.kind)), row = 4 * k,
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
          DotSpec spec{.kind = MmaKind::i8, .a = a, .b = b, .d = s32, .saturate = saturate, .read_c = read_c};
          REQUIRE(has_vector_path(spec));
          check(make(spec, any_bits, any_bits, random, 7, 67, 11));
          spec.sparse = true;
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

}  // namespace num_gemm_kernel
