// The tensor core's arithmetic against the published B200 words, and against hand-computed cases for each rule.
#include <doctest/doctest.h>

#include <bit>

#include "tests/unit/num/vectors.hpp"

namespace num_window {

using namespace kiln::num;
using namespace kiln::num::test;

namespace {

int failures(int window) {
  int failed = 0;
  for (const Vector& v : vectors()) {
    if (v.spec.kind == MmaKind::i8) continue;
    DotSpec spec = v.spec;
    spec.window = window;
    failed += run(v, spec) != v.expect;
  }
  return failed;
}

std::uint32_t f32(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint32_t bf16(float value) { return f32(value) >> 16; }

// bf16 x bf16 with one pair per element of the lists.
std::uint32_t bf16_dot(std::vector<std::uint32_t> a, std::vector<std::uint32_t> b, std::uint32_t c, DotSpec spec = {}) {
  return dot(spec, a, b, c);
}

}  // namespace

TEST_CASE("every published B200 word is reproduced") {
  CHECK(vectors().size() == 84);
  for (const Vector& v : vectors()) {
    CAPTURE(v.id);
    CHECK(run(v, v.spec) == v.expect);
  }
}

TEST_CASE("a window one bit narrower or wider contradicts the published words") {
  CHECK(failures(25) == 0);
  CHECK(failures(24) == 2);
  CHECK(failures(26) == 3);
}

TEST_CASE("products are cut toward zero one by one, not after summing") {
  // Each small product is 0.75 of a grid unit: cut alone it is nothing, summed first the four would make three units.
  const std::uint32_t small = bf16(0x1.8p-26f);
  const auto d = bf16_dot({bf16(1), small, small, small, small}, {bf16(1), bf16(1), bf16(1), bf16(1), bf16(1)}, 0);
  CHECK(d == f32(1));
  const std::uint32_t minus = bf16(-0x1.8p-26f);
  CHECK(bf16_dot({bf16(1), minus, minus}, {bf16(1), bf16(1), bf16(1)}, 0) == f32(1));
}

TEST_CASE("the f32 result is truncated and overflows to infinity, not to the largest finite number") {
  CHECK(bf16_dot({bf16(1), bf16(-0x1p-24f)}, {bf16(1), bf16(1)}, 0) == f32(0x1.FFFFFEp-1f));
  CHECK(bf16_dot({bf16(1), bf16(-0x1p-25f)}, {bf16(1), bf16(1)}, 0) == f32(0x1.FFFFFEp-1f));
  CHECK(bf16_dot({bf16(0x1p100f)}, {bf16(0x1p100f)}, 0) == 0x7F800000);
  CHECK(bf16_dot({bf16(-0x1p100f)}, {bf16(0x1p100f)}, 0) == 0xFF800000);
}

TEST_CASE("products beyond the range of f32 cancel exactly") {
  CHECK(bf16_dot({bf16(0x1p100f), bf16(-0x1p100f)}, {bf16(0x1p100f), bf16(0x1p100f)}, 0) == 0);
}

TEST_CASE("a zero result is always plus zero") {
  CHECK(bf16_dot({0x8000}, {bf16(1)}, 0x80000000) == 0);
  CHECK(bf16_dot({}, {}, 0x80000000) == 0);
  CHECK(bf16_dot({bf16(0x1p-100f)}, {bf16(-0x1p-100f)}, 0) == 0);  // a negative sum below every f32
}

TEST_CASE("infinity times zero, opposite infinities and NaN give the canonical NaN") {
  CHECK(bf16_dot({0x7F80}, {0x8000}, f32(1)) == 0x7FFFFFFF);
  CHECK(bf16_dot({0x7F80, 0xFF80}, {bf16(1), bf16(1)}, 0) == 0x7FFFFFFF);
  CHECK(bf16_dot({0x7F80}, {bf16(1)}, 0xFF800000) == 0x7FFFFFFF);
  CHECK(bf16_dot({0x7F81}, {0}, 0) == 0x7FFFFFFF);
  CHECK(bf16_dot({0x7F80}, {0x8001}, 0) == 0xFF800000);  // a subnormal is not zero
  const DotSpec half{.a = ScalarType::f16, .b = ScalarType::f16, .d = ScalarType::f16};
  CHECK(dot(half, std::vector<std::uint32_t>{0x7C00}, std::vector<std::uint32_t>{0}, 0) == 0x7FFF);
  CHECK(dot(half, std::vector<std::uint32_t>{0x7C00}, std::vector<std::uint32_t>{0xBC00}, 0) == 0xFC00);
}

TEST_CASE("an f16 result is rounded once, to nearest even") {
  const DotSpec half{.a = ScalarType::f16, .b = ScalarType::f16, .d = ScalarType::f16};
  const std::vector<std::uint32_t> ones{0x3C00, 0x3C00, 0x3C00};
  CHECK(dot(half, std::vector<std::uint32_t>{0x3C00, 0x1000, 0x0000}, ones, 0) == 0x3C00);  // 1 + 2^-11: tie, even
  CHECK(dot(half, std::vector<std::uint32_t>{0x3C00, 0x1000, 0x0010}, ones, 0) == 0x3C01);  // 2^-20 above the tie
  CHECK(dot(half, std::vector<std::uint32_t>{0x7BFF, 0x4C00, 0x0000}, ones, 0) == 0x7C00);  // 65520
}

TEST_CASE("negation, scale-input-d and enable-input-d act on operands before any rule") {
  CHECK(bf16_dot({bf16(2)}, {bf16(3)}, f32(1), {.negate_a = true}) == f32(-5));
  CHECK(bf16_dot({bf16(2)}, {bf16(3)}, f32(1), {.negate_a = true, .negate_b = true}) == f32(7));
  CHECK(bf16_dot({bf16(2)}, {bf16(3)}, f32(8), {.scale_input_d = 2}) == f32(8));
  CHECK(bf16_dot({bf16(2)}, {bf16(3)}, 0x7FC00000, {.read_c = false}) == f32(6));
  CHECK(bf16_dot({0x7F80}, {bf16(1)}, 0, {.negate_a = true}) == 0xFF800000);
}

TEST_CASE("i8 clamps once at the end or wraps") {
  DotSpec spec{.kind = MmaKind::i8, .a = ScalarType::u8, .b = ScalarType::u8, .d = ScalarType::s32, .saturate = true};
  const std::vector<std::uint32_t> all(32, 255);
  CHECK(dot(spec, all, all, 0x7FFFFFF0) == 0x7FFFFFFF);
  spec.saturate = false;
  CHECK(dot(spec, all, all, 0x7FFFFFF0) == 0x7FFFFFF0u + 255 * 255 * 32);
  spec.a = ScalarType::s8;
  CHECK(dot(spec, all, all, 0) == static_cast<std::uint32_t>(-255 * 32));
}

TEST_CASE("sparse metadata names the columns that stored elements meet") {
  const std::vector<std::uint32_t> words{0x6E4C, 0};
  CHECK(sparse_column(MmaKind::f16, 0, words) == 0);  // 0xC: columns 0 and 3
  CHECK(sparse_column(MmaKind::f16, 1, words) == 3);
  CHECK(sparse_column(MmaKind::f16, 2, words) == 4);  // 0x4: columns 0 and 1 of the second four
  CHECK(sparse_column(MmaKind::f16, 3, words) == 5);
  CHECK(sparse_column(MmaKind::f16, 6, words) == 14);  // 0x6: stored in reverse
  CHECK(sparse_column(MmaKind::f16, 7, words) == 13);
  CHECK(sparse_column(MmaKind::tf32, 1, words) == 2);  // 0x4 keeps the first of the pair
  CHECK(sparse_column(MmaKind::tf32, 2, words) == 5);  // 0xE the second
  CHECK(sparse_column(MmaKind::mxf4, 2, words) == 6);  // 0xC: pairs 0 and 3
  CHECK(sparse_column(MmaKind::mxf4, 3, words) == 7);
}

}  // namespace num_window
