// A GEMM with operands that a test draws, by `dot` and by the kernel.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "ptx/num/gemm_kernel.hpp"

namespace kiln::num::test {

using Random = std::mt19937_64;
using Words = std::vector<std::uint32_t>;

inline std::vector<VectorUnit> units() {
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
  Words metadata = {};  // of each row of A, for all steps

  // Of one step: elements of B, and those that A stores.
  int k_step() const { return mma_k(spec.kind) * (spec.sparse ? 2 : 1); }
  int stored_step() const { return mma_k(spec.kind); }
  int k() const { return steps * k_step(); }
  int stored() const { return steps * stored_step(); }
  int metadata_step() const { return !spec.sparse ? 0 : stored_step() / (spec.kind == MmaKind::tf32 ? 8 : 16); }
};

template <class T>
std::vector<T> narrow(const Words& words) {
  return {words.begin(), words.end()};
}

inline Words expected(const Case& c) {
  Words d = c.d;
  const auto k = static_cast<std::size_t>(c.k_step()), row = static_cast<std::size_t>(c.k());
  const auto stored = static_cast<std::size_t>(c.stored_step()), a_row = static_cast<std::size_t>(c.stored());
  const auto words = static_cast<std::size_t>(c.metadata_step());
  const auto scales = static_cast<std::size_t>(c.spec.scale_vector), steps = static_cast<std::size_t>(c.steps);
  for (std::size_t i = 0; i < static_cast<std::size_t>(c.m); ++i)
    for (std::size_t j = 0; j < static_cast<std::size_t>(c.n); ++j)
      for (std::size_t s = 0; s < steps; ++s) {
        DotSides sides;
        if (scales)
          sides = {{&c.scale_a[i * steps * scales + s * scales], scales},
                   {&c.scale_b[j * steps * scales + s * scales], scales},
                   {}};
        if (words) sides.metadata = {&c.metadata[(i * steps + s) * words], words};
        std::uint32_t& out = d[i * static_cast<std::size_t>(c.n) + j];
        DotSpec spec = c.spec;
        spec.read_c |= s > 0;
        out = dot(spec, std::span(c.a).subspan(i * a_row + s * stored, stored),
                  std::span(c.b).subspan(j * row + s * k, k), out, sides);
      }
  return d;
}

inline Words computed(const Case& c, VectorUnit unit, GemmCounters* counters = nullptr,
                      Arithmetic arithmetic = Arithmetic::exact) {
  const auto a8 = narrow<std::uint8_t>(c.a), b8 = narrow<std::uint8_t>(c.b);
  const auto a16 = narrow<std::uint16_t>(c.a), b16 = narrow<std::uint16_t>(c.b);
  const auto pick = [](int bits, const void* w8, const void* w16, const void* w32) {
    return bits == 32 ? w32 : bits == 16 ? w16 : w8;
  };
  const auto stride = static_cast<std::size_t>(c.k()), scales = static_cast<std::size_t>(c.steps * c.spec.scale_vector);
  Words d = c.d;
  GemmTask task{.spec = c.spec, .m = c.m, .n = c.n, .k = c.k(), .arithmetic = arithmetic};
  task.a = {pick(kiln::isa::bits(c.spec.a), a8.data(), a16.data(), c.a.data()), static_cast<std::size_t>(c.stored()),
            c.scale_a.data(), scales};
  task.metadata = c.metadata.data();
  task.metadata_stride = static_cast<std::size_t>(c.steps * c.metadata_step());
  task.b = {pick(kiln::isa::bits(c.spec.b), b8.data(), b16.data(), c.b.data()), stride, c.scale_b.data(), scales};
  task.d = d.data();
  task.d_stride = static_cast<std::size_t>(c.n);
  GemmKernel kernel(unit);
  kernel.run(task);
  if (counters) *counters = kernel.counters();
  return d;
}

inline void check(const Case& c) {
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

// Metadata of eight chunks, of the kind that means something.
inline std::uint32_t selectors(Random& random, const DotSpec& spec) {
  constexpr std::array two_of_four{4u, 6u, 8u, 9u, 12u, 13u, 14u}, one_of_two{4u, 14u, 4u, 14u, 4u, 14u, 4u};
  std::uint32_t word = 0;
  for (int at = 0; at < 32; at += 4)
    word |= (spec.kind == MmaKind::tf32 ? one_of_two : two_of_four)[random() % 7] << at;
  return word;
}

inline Case make(const DotSpec& spec, const Source& operand, const Source& c_word, Random& random, int m = 8,
                 int n = 80, int steps = 1) {
  Case c{.spec = spec, .m = m, .n = n, .steps = steps, .a = {}, .b = {}, .d = {}, .scale_a = {}, .scale_b = {}};
  for (int i = 0; i < m * c.stored(); ++i) c.a.push_back(operand(random, spec.a));
  for (int i = 0; i < m * steps * c.metadata_step(); ++i) c.metadata.push_back(selectors(random, spec));
  for (int i = 0; i < n * c.k(); ++i) c.b.push_back(operand(random, spec.b));
  for (int i = 0; i < m * n; ++i) c.d.push_back(c_word(random, ScalarType::f32));
  for (int i = 0; i < m * steps * spec.scale_vector; ++i)
    c.scale_a.push_back(static_cast<std::uint8_t>(random() % 40 + 107));
  for (int i = 0; i < n * steps * spec.scale_vector; ++i)
    c.scale_b.push_back(static_cast<std::uint8_t>(random() % 40 + 107));
  return c;
}

inline std::uint32_t word_of(ScalarType type, double value) {
  return static_cast<std::uint32_t>(encode(type, value, Rounding::rn, true));
}

inline std::uint32_t any_bits(Random& random, ScalarType type) {
  const int bits = kiln::isa::bits(type);
  return static_cast<std::uint32_t>(random()) & (bits == 32 ? 0xFFFFFFFFu : (1u << bits) - 1);
}
inline std::uint32_t normal(Random& random, ScalarType type) {
  return word_of(type == ScalarType::tf32 ? ScalarType::f32 : type, std::normal_distribution<>()(random));
}
inline std::uint32_t small_integer(Random& random, ScalarType type) {
  return word_of(type == ScalarType::tf32 ? ScalarType::f32 : type, static_cast<double>(random() % 7) - 3);
}
// Their sums often cancel, and their unit is far above any small C.
inline std::uint32_t big_integer(Random& random, ScalarType type) {
  const double value = static_cast<double>(random() % 5) - 2;
  const int scale = format_of(type).exponent_bits == 8 ? 30 : 2;
  return random() % 4 ? 0 : word_of(type == ScalarType::tf32 ? ScalarType::f32 : type, std::ldexp(value, scale));
}
inline std::uint32_t subnormal(Random& random, ScalarType type) {
  const Format f = format_of(type);
  return static_cast<std::uint32_t>(random() % 4) << f.ignored_bits;
}
// Mostly ordinary values, with exponents anywhere and a few zeros.
inline std::uint32_t wide(Random& random, ScalarType type) {
  const double magnitude =
      std::ldexp(1 + static_cast<double>(random() % 1024) / 1024, static_cast<int>(random() % 120) - 60);
  return random() % 8 == 0
             ? 0
             : word_of(type == ScalarType::tf32 ? ScalarType::f32 : type, random() % 2 ? magnitude : -magnitude);
}
inline std::uint32_t tiny(Random& random, ScalarType type) {
  const double magnitude =
      std::ldexp(1 + static_cast<double>(random() % 256) / 256, -static_cast<int>(random() % 20) - 58);
  return word_of(type == ScalarType::tf32 ? ScalarType::f32 : type, random() % 2 ? magnitude : -magnitude);
}
inline std::uint32_t largest(Random& random, ScalarType type) {
  const double value = to_double(type, format_of(type).max_finite() << format_of(type).ignored_bits);
  return word_of(type == ScalarType::tf32 ? ScalarType::f32 : type, random() % 64 ? value : -value);
}
// All products near four times the power of their exponents: the grid sum comes closest to 2^31.
inline std::uint32_t full_mantissa(Random&, ScalarType type) {
  return word_of(type == ScalarType::tf32 ? ScalarType::f32 : type,
                 2 - std::ldexp(1.0, -format_of(type).fraction_bits));
}
inline std::uint32_t specials(Random& random, ScalarType type) {
  if (random() % 40) return normal(random, type);
  const std::uint32_t nan_or_inf[] = {0x7F800000, 0xFF800000, 0x7FC00000, 0x80000000, 0, 1};
  const std::uint32_t word = nan_or_inf[random() % 6];
  const double value = to_double(ScalarType::f32, word);
  return static_cast<std::uint32_t>(encode(type == ScalarType::tf32 ? ScalarType::f32 : type, value));
}
inline std::uint32_t zero(Random& random, ScalarType) { return random() % 2 ? 0x80000000 : 0; }

inline std::vector<DotSpec> vector_specs() {
  using enum ScalarType;
  return {{.kind = MmaKind::f16, .a = bf16, .b = bf16},
          {.kind = MmaKind::f16, .a = f16, .b = f16, .negate_a = true},
          {.kind = MmaKind::tf32, .a = tf32, .b = tf32, .scale_input_d = 3},
          {.kind = MmaKind::f8f6f4, .a = e4m3, .b = e5m2, .negate_b = true},
          {.kind = MmaKind::f8f6f4, .a = e2m1, .b = e3m2},
          {.kind = MmaKind::f8f6f4, .a = e2m3, .b = e4m3, .read_c = false},
          {.kind = MmaKind::mxf8f6f4, .a = e5m2, .b = e4m3, .scale = ue8m0, .scale_vector = 1},
          {.kind = MmaKind::f16, .a = bf16, .b = bf16, .sparse = true},
          {.kind = MmaKind::f16, .a = f16, .b = f16, .sparse = true, .negate_b = true, .scale_input_d = 2},
          {.kind = MmaKind::tf32, .a = tf32, .b = tf32, .sparse = true, .negate_a = true},
          {.kind = MmaKind::f8f6f4, .a = e4m3, .b = e5m2, .sparse = true},
          {.kind = MmaKind::f8f6f4, .a = e5m2, .b = e2m1, .sparse = true, .read_c = false},
          {.kind = MmaKind::mxf8f6f4, .a = e4m3, .b = e5m2, .scale = ue8m0, .scale_vector = 1, .sparse = true}};
}

// One instruction of a chain, on what the one before left.
inline Case instruction(const Case& c, int step, const Words& d) {
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
  one.a = cut(c.a, c.m, c.stored_step());
  one.b = cut(c.b, c.n, c.k_step());
  one.metadata = cut(c.metadata, c.m, c.metadata_step());
  one.scale_a = cut(c.scale_a, c.m, c.spec.scale_vector);
  one.scale_b = cut(c.scale_b, c.n, c.spec.scale_vector);
  return one;
}

}  // namespace kiln::num::test
