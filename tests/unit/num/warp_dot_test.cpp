// The arithmetic of warp-level and warpgroup-level instructions against words that an H100 and a B200 gave, and against
// hand-computed cases for what no published word decides.
#include "ptx/num/warp_dot.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

namespace num_warp_dot {

using namespace kiln::num;
using u32 = std::uint32_t;
using Words = std::vector<u32>;

namespace {

struct Row {
  std::string gpu, a_format, d_format;
  Words a, b;
  u32 c = 0, expect = 0;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::ifstream file(KILN_TEST_DATA "/num/warp_mma_hw.json");
    std::vector<Row> out;
    for (const auto& j : nlohmann::json::parse(file))
      out.push_back(
          {j.at("gpu"), j.at("a_fmt"), j.at("d_fmt"), j.at("a"), j.at("b"), j.at("c"), j.at("expect_f32_word")});
    return out;
  }();
  return all;
}

MmaKind kind_of(ScalarType t) {
  return t == ScalarType::tf32 ? MmaKind::tf32 : kiln::isa::bits(t) == 16 ? MmaKind::f16 : MmaKind::f8f6f4;
}

// The file has no instruction. fp8 rows with an f32 D from an H100 are wgmma whose C was not read; every other row is
// of one warp: wmma for the wider types, mma.sync for fp8.
WarpDotSpec spec_of(const Row& r) {
  WarpDotSpec s;
  s.sm = r.gpu == "B200" ? 100 : 90;
  s.a = s.b = kiln::isa::parse_type(r.a_format).value();
  s.d = kiln::isa::parse_type(r.d_format).value();
  s.kind = kind_of(s.a);
  if (s.sm == 90 && s.kind == MmaKind::f8f6f4 && s.d == ScalarType::f32) s.unit = WarpUnit::wgmma, s.read_c = false;
  return s;
}

// The file writes every result as an f32 word.
u32 in_f32(ScalarType d, u32 word) {
  return d == ScalarType::f16 ? f16_to_f32(static_cast<std::uint16_t>(word)) : word;
}

u32 run(const WarpDotSpec& s, const Row& r) { return in_f32(s.d, warp_dot(s, r.a, r.b, s.read_c ? r.c : 0)); }

u32 f32(float value) { return std::bit_cast<u32>(value); }
u32 f16(float value) { return f32_to_f16_rn(f32(value)); }

int failures(int window) {
  int failed = 0;
  for (const Row& r : rows()) {
    if (spec_of(r).kind == MmaKind::f8f6f4) continue;
    DotSpec spec = window_spec(spec_of(r));
    spec.window = window;
    failed += in_f32(spec.d, dot(spec, r.a, r.b, r.c)) != r.expect;
  }
  return failed;
}

}  // namespace

TEST_CASE("every published word of warp-level instructions is reproduced") {
  CHECK(rows().size() == 800);
  for (const Row& r : rows()) {
    CAPTURE(r.gpu);
    CAPTURE(r.a_format);
    CAPTURE(r.d_format);
    CHECK(run(spec_of(r), r) == r.expect);
  }
}

TEST_CASE("a window one bit narrower or wider contradicts the published words of warp-level instructions") {
  CHECK(failures(25) == 0);
  CHECK(failures(24) > 20);
  CHECK(failures(26) > 10);
}

TEST_CASE("fp8 by warps of sm_90 and sm_100 is not one window, and by warpgroups is a narrow one") {
  int one_window = 0, wide = 0;
  for (const Row& r : rows()) {
    WarpDotSpec s = spec_of(r);
    if (s.kind != MmaKind::f8f6f4) continue;
    if (s.unit == WarpUnit::wgmma) {
      s.unit = WarpUnit::mma;
      wide += run(s, r) != r.expect;
    } else {
      s.sm = 120;
      one_window += run(s, r) != r.expect;
    }
  }
  CHECK(one_window > 50);
  CHECK(wide > 50);
}

TEST_CASE("sm_80 takes eight products at a time, four of tf32, and rounds to D between") {
  // 1 + 2^-23 and then, in the second window, -1: what the first window rounds away never comes back.
  Words a(16, 0), b(16, f16(1));
  a[0] = f16(1), a[1] = f16(0x1p-24f), a[8] = f16(-1);
  CHECK(warp_dot({.sm = 80}, a, b, 0) == 0);
  CHECK(warp_dot({.sm = 90}, a, b, 0) == f32(0x1p-24f));
  Words x(8, 0), y(8, f32(1));
  x[0] = f32(1), x[1] = f32(0x1p-24f), x[4] = f32(-1);
  const auto tf32 = [](int sm) {
    return WarpDotSpec{.sm = sm, .kind = MmaKind::tf32, .a = ScalarType::tf32, .b = ScalarType::tf32};
  };
  CHECK(warp_dot(tf32(86), x, y, 0) == 0);
  CHECK(warp_dot(tf32(100), x, y, 0) == f32(0x1p-24f));
}

TEST_CASE("an f16 accumulator is rounded to nearest even after every window") {
  Words a(16, 0), b(16, f16(1));
  a[0] = f16(1), a[1] = f16(0x1p-11f), a[8] = f16(0x1p-11f);  // twice a tie that goes to even; together one unit
  const auto half = [](int sm) { return WarpDotSpec{.sm = sm, .d = ScalarType::f16}; };
  CHECK(warp_dot(half(80), a, b, 0) == f16(1));
  CHECK(warp_dot(half(90), a, b, 0) == f16(1 + 0x1p-10f));
}

TEST_CASE("fp8 on sm_89 keeps thirteen bits below the largest term, of C too, in halves of sixteen") {
  const WarpDotSpec s{.sm = 89, .kind = MmaKind::f8f6f4, .a = ScalarType::e4m3, .b = ScalarType::e4m3};
  const u32 one = 0x38, zero = 0;
  CHECK(warp_dot(s, Words(32, zero), Words(32, one), f32(1.0f + 0x1p-13f)) == f32(1.0f + 0x1p-13f));
  CHECK(warp_dot(s, Words(32, zero), Words(32, one), f32(1.0f + 0x1p-14f)) == f32(1));
  Words a(32, zero), b(32, one);
  a[0] = one, a[16] = one, b[16] = 0xB8;  // 1 - 1 with 2^-14 in the first half
  CHECK(warp_dot(s, a, b, f32(0x1p-14f)) == 0);
}

TEST_CASE("integers sum exactly, wrap or clamp once; bits are counted") {
  WarpDotSpec s{.a = ScalarType::s4, .b = ScalarType::u4, .d = ScalarType::s32};
  CHECK(warp_dot(s, Words{0xF, 0x7}, Words{0xF, 2}, 5) == u32(-15 + 14 + 5));
  s.a = s.b = ScalarType::u8, s.saturate = true;
  CHECK(warp_dot(s, Words(32, 255), Words(32, 255), 0x7FFFFFF0) == 0x7FFFFFFF);
  s.saturate = false;
  CHECK(warp_dot(s, Words(32, 255), Words(32, 255), 0x7FFFFFF0) == 0x7FFFFFF0u + 255 * 255 * 32);
  s.a = s.b = ScalarType::b1, s.bits = BitProduct::xor_popc;
  CHECK(warp_dot(s, Words{0xFF00FF00}, Words{0xFFFF0000}, 1) == 17);
  s.bits = BitProduct::and_popc;
  CHECK(warp_dot(s, Words{0xFF00FF00}, Words{0xFFFF0000}, 1) == 9);
}

TEST_CASE("f64 is a chain of fused multiply-adds in the order of k") {
  const std::vector<double> a{0x1p53, 1, -0x1p53}, b{1, 1, 1};
  CHECK(warp_dot_f64(a, b, 0) == 0);  // the 1 is lost before the large terms cancel
  CHECK(warp_dot_f64(std::vector<double>{0x1p53, -0x1p53, 1}, b, 0) == 1);
  CHECK(warp_dot_f64(std::vector<double>{1 + 0x1p-52}, std::vector<double>{1 + 0x1p-52}, -1) == 0x1p-51 + 0x1p-104);
}

}  // namespace num_warp_dot
