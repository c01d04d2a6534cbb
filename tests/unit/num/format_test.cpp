// Number formats: exhaustive round trips, rounding against exact neighbours, and words that an H200's cvt produced.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "ptx/num/format.hpp"

namespace num_format {

using namespace kiln::num;
using enum ScalarType;

namespace {

constexpr ScalarType all_small[] = {f16, bf16, e4m3, e5m2, e3m2, e2m3, e2m1};
constexpr Rounding ieee_modes[] = {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp, Rounding::rna};
constexpr double infinity = std::numeric_limits<double>::infinity();

std::uint64_t sign_bit(ScalarType type) { return format_of(type).magnitude_mask() + 1; }

// What the definition of the rounding mode says for a positive x between two neighbouring words.
std::uint64_t pick(ScalarType type, std::uint64_t low, double x, bool negative, Rounding mode) {
  const double below = to_double(type, low), above = to_double(type, low + 1), middle = (below + above) / 2;
  if (x == below) return low;
  switch (mode) {
    case Rounding::rz: return low;
    case Rounding::rm: return low + negative;
    case Rounding::rp: return low + !negative;
    case Rounding::rna: return low + (x >= middle);
    case Rounding::rn: return x == middle ? low + (low & 1) : low + (x > middle);
  }
  return low;
}

// One column of the H200 table below.
struct Measured {
  std::uint32_t f32;
  std::uint16_t f16_rn, f16_rz, f16_rp, f16_rn_sat, bf16_rn, bf16_rz, bf16_rn_sat;
  std::uint32_t tf32_rna, tf32_rn, tf32_rz, tf32_rna_sat;
  std::uint8_t e4m3, e5m2;
};

// cvt of these f32 words on an H200 (sm_90a, CUDA 13.0).
constexpr Measured h200[] = {
    {0x80000000, 0x8000, 0x8000, 0x8000, 0x8000, 0x8000, 0x8000, 0x8000, 0x80000000, 0x80000000, 0x80000000, 0x80000000,
     0x80, 0x80},
    {0x00000001, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {0x007fffff, 0, 0, 1, 0, 0x80, 0x7f, 0x80, 0x800000, 0x800000, 0x7fe000, 0x800000, 0, 0},
    {0x7f800000, 0x7c00, 0x7c00, 0x7c00, 0x7bff, 0x7f80, 0x7f80, 0x7f7f, 0x7f800000, 0x7f800000, 0x7f800000, 0x7f7fe000,
     0x7e, 0x7b},
    {0xff800000, 0xfc00, 0xfc00, 0xfc00, 0xfbff, 0xff80, 0xff80, 0xff7f, 0xff800000, 0xff800000, 0xff800000, 0xff7fe000,
     0xfe, 0xfb},
    {0x7f800001, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7f800000, 0x7fffe000, 0x7fffe000, 0x7f7fe000,
     0x7f, 0x7f},
    {0xffc12345, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0xffc12000, 0x7fffe000, 0x7fffe000, 0xffc10000,
     0x7f, 0x7f},
    {0x7fffffff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fffe000, 0x7fffe000, 0x7fffe000, 0x7fffc000,
     0x7f, 0x7f},
    {0x7f7fffff, 0x7c00, 0x7bff, 0x7c00, 0x7bff, 0x7f80, 0x7f7f, 0x7f7f, 0x7f800000, 0x7f800000, 0x7f7fe000, 0x7f7fe000,
     0x7e, 0x7b},
    {0xff7fffff, 0xfc00, 0xfbff, 0xfbff, 0xfbff, 0xff80, 0xff7f, 0xff7f, 0xff800000, 0xff800000, 0xff7fe000, 0xff7fe000,
     0xfe, 0xfb},
    {0x477ff000, 0x7c00, 0x7bff, 0x7c00, 0x7bff, 0x4780, 0x477f, 0x4780, 0x47800000, 0x47800000, 0x477fe000, 0x47800000,
     0x7e, 0x7b},
    {0x477fefff, 0x7bff, 0x7bff, 0x7c00, 0x7bff, 0x4780, 0x477f, 0x4780, 0x477fe000, 0x477fe000, 0x477fe000, 0x477fe000,
     0x7e, 0x7b},
    {0x33000000, 0, 0, 1, 0, 0x3300, 0x3300, 0x3300, 0x33000000, 0x33000000, 0x33000000, 0x33000000, 0, 0},
    {0x33000001, 1, 0, 1, 1, 0x3300, 0x3300, 0x3300, 0x33000000, 0x33000000, 0x33000000, 0x33000000, 0, 0},
    {0x3f801000, 0x3c00, 0x3c00, 0x3c01, 0x3c00, 0x3f80, 0x3f80, 0x3f80, 0x3f802000, 0x3f800000, 0x3f800000, 0x3f802000,
     0x38, 0x3c},
    {0x3f803000, 0x3c02, 0x3c01, 0x3c02, 0x3c02, 0x3f80, 0x3f80, 0x3f80, 0x3f804000, 0x3f804000, 0x3f802000, 0x3f804000,
     0x38, 0x3c},
    {0x3f802fff, 0x3c01, 0x3c01, 0x3c02, 0x3c01, 0x3f80, 0x3f80, 0x3f80, 0x3f802000, 0x3f802000, 0x3f802000, 0x3f802000,
     0x38, 0x3c},
    {0x43e80001, 0x5f40, 0x5f40, 0x5f41, 0x5f40, 0x43e8, 0x43e8, 0x43e8, 0x43e80000, 0x43e80000, 0x43e80000, 0x43e80000,
     0x7e, 0x5f},
    {0xc3f00000, 0xdf80, 0xdf80, 0xdf80, 0xdf80, 0xc3f0, 0xc3f0, 0xc3f0, 0xc3f00000, 0xc3f00000, 0xc3f00000, 0xc3f00000,
     0xfe, 0xe0},
    {0x3a800000, 0x1400, 0x1400, 0x1400, 0x1400, 0x3a80, 0x3a80, 0x3a80, 0x3a800000, 0x3a800000, 0x3a800000, 0x3a800000,
     0, 0x14},
    {0x3a800001, 0x1400, 0x1400, 0x1401, 0x1400, 0x3a80, 0x3a80, 0x3a80, 0x3a800000, 0x3a800000, 0x3a800000, 0x3a800000,
     1, 0x14},
    {0x4768ffff, 0x7b48, 0x7b47, 0x7b48, 0x7b48, 0x4769, 0x4768, 0x4769, 0x47690000, 0x47690000, 0x4768e000, 0x47690000,
     0x7e, 0x7b},
    {0x37000001, 0x80, 0x80, 0x81, 0x80, 0x3700, 0x3700, 0x3700, 0x37000000, 0x37000000, 0x37000000, 0x37000000, 0, 1},
    {0x7f817f81, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7f816000, 0x7fffe000, 0x7fffe000, 0x7f814000,
     0x7f, 0x7f},
    {0xfff0fff0, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0x7fff, 0xfff0e000, 0x7fffe000, 0x7fffe000, 0xfff0c000,
     0x7f, 0x7f},
};

}  // namespace

TEST_CASE("every finite word of a small format survives decode and encode in every rounding mode") {
  for (ScalarType type : all_small)
    for (std::uint64_t word = 0; word < 1ull << kiln::isa::bits(type); ++word) {
      if (decode(type, word).kind != NumberClass::finite) continue;
      const double value = to_double(type, word);
      for (Rounding mode : ieee_modes)
        if (encode(type, value, mode) != word || encode(type, value, mode, true) != word)
          CHECK(word == encode(type, value, mode));
    }
}

TEST_CASE("f32 and tf32 words survive decode and encode") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const auto word = static_cast<std::uint32_t>(random());
    if (decode(f32, word).kind != NumberClass::finite) continue;
    const bool same = encode(f32, to_double(f32, word)) == word &&
                      encode(tf32, to_double(tf32, word)) == (word & ~0x1FFFu) &&
                      to_double(f32, word) == static_cast<double>(std::bit_cast<float>(word));
    if (!same) CHECK(word == 0);
  }
}

TEST_CASE("values between neighbours round as each mode defines, in every small format") {
  for (ScalarType type : all_small)
    for (std::uint64_t low = 0; low < format_of(type).max_finite(); ++low) {
      const double below = to_double(type, low), above = to_double(type, low + 1);
      const double step = above - below;
      for (double part : {0x1p-20, 0.25, 0.5 - 0x1p-20, 0.5, 0.5 + 0x1p-20, 0.75})
        for (bool negative : {false, true})
          for (Rounding mode : ieee_modes) {
            const double x = below + part * step;
            const std::uint64_t want = pick(type, low, x, negative, mode) | (negative ? sign_bit(type) : 0);
            if (encode(type, negative ? -x : x, mode) != want) CHECK(encode(type, negative ? -x : x, mode) == want);
          }
    }
}

TEST_CASE("a double is rounded once, not through f32") {
  CHECK(encode(f16, 1 + 0x1p-11 + 0x1p-40) == 0x3C01);  // through f32 it would be a tie, and go to 0x3C00
  CHECK(encode(bf16, 1 + 0x1p-8 + 0x1p-40) == 0x3F81);
  CHECK(encode(f32, 1 + 0x1p-24 + 0x1p-52) == 0x3F800001);
  CHECK(encode_exact(f32, false, (1ull << 63) + (1ull << 39) + 1, 0, Rounding::rn, false) == 0x5F000001);  // u64 source
  CHECK(encode_exact(f16, true, 1, -200, Rounding::rm, false) == 0x8001);
}

TEST_CASE("overflow gives what the format and the modifiers ask for") {
  CHECK(encode(e4m3, 464, Rounding::rn, true) == 0x7E);
  CHECK(encode(e4m3, 1e6) == 0x7F);  // without satfinite, which PTX does not offer: NaN, for want of an infinity
  CHECK(encode(e5m2, 1e6) == 0x7C);
  CHECK(encode(e5m2, -infinity, Rounding::rn, true) == 0xFB);
  CHECK(encode(e2m1, -1e6) == 0xF);
  CHECK(encode(e3m2, infinity) == 0x1F);
  CHECK(encode(e2m3, std::nan("")) == 0x1F);
  CHECK(encode(e2m1, -std::nan("")) == 0x7);
  CHECK(encode(f16, 1e6, Rounding::rz) == 0x7BFF);
  CHECK(encode(f16, -1e6, Rounding::rp) == 0xFBFF);
  CHECK(encode(f16, -1e6, Rounding::rm) == 0xFC00);
}

TEST_CASE("ue8m0 rounds magnitudes to powers of two and clamps at its smallest") {
  CHECK(encode(ue8m0, 1, Rounding::rz) == 127);
  CHECK(encode(ue8m0, 1.5, Rounding::rz) == 127);
  CHECK(encode(ue8m0, 1.5, Rounding::rp) == 128);
  CHECK(encode(ue8m0, -1.5, Rounding::rp) == 128);
  CHECK(encode(ue8m0, 0, Rounding::rp) == 0);
  CHECK(encode(ue8m0, 0x1p-140, Rounding::rp) == 0);
  CHECK(encode(ue8m0, 0x1.8p-127, Rounding::rp) == 1);
  CHECK(encode(ue8m0, 0x1.8p127, Rounding::rp) == 0xFF);
  CHECK(encode(ue8m0, 0x1.8p127, Rounding::rp, true) == 0xFE);
  CHECK(encode(ue8m0, infinity, Rounding::rz, true) == 0xFE);
  CHECK(encode(ue8m0, std::nan(""), Rounding::rz, true) == 0xFF);
  for (std::uint64_t word = 0; word < 255; ++word) CHECK(encode(ue8m0, to_double(ue8m0, word), Rounding::rz) == word);
}

TEST_CASE("conversions from f32 give the words an H200 gives") {
  for (const Measured& m : h200) {
    CAPTURE(m.f32);
    const double x = to_double(f32, m.f32);
    CHECK(encode(f16, x) == m.f16_rn);
    CHECK(f32_to_f16_rn(m.f32) == m.f16_rn);
    CHECK(encode(f16, x, Rounding::rz) == m.f16_rz);
    CHECK(encode(f16, x, Rounding::rp) == m.f16_rp);
    CHECK(encode(f16, x, Rounding::rn, true) == m.f16_rn_sat);
    CHECK(encode(bf16, x) == m.bf16_rn);
    CHECK(f32_to_bf16_rn(m.f32) == m.bf16_rn);
    CHECK(encode(bf16, x, Rounding::rz) == m.bf16_rz);
    CHECK(encode(bf16, x, Rounding::rn, true) == m.bf16_rn_sat);
    CHECK(f32_to_tf32(m.f32, Rounding::rna, false) == m.tf32_rna);
    CHECK(f32_to_tf32(m.f32, Rounding::rn, false) == m.tf32_rn);
    CHECK(f32_to_tf32(m.f32, Rounding::rz, false) == m.tf32_rz);
    CHECK(f32_to_tf32(m.f32, Rounding::rna, true) == m.tf32_rna_sat);
    CHECK(encode(e4m3, x, Rounding::rn, true) == m.e4m3);
    CHECK(encode(e5m2, x, Rounding::rn, true) == m.e5m2);
  }
}

TEST_CASE("the fast paths agree with the general conversion") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 500000; ++i) {
    const auto word = static_cast<std::uint32_t>(random() >> (i % 2 ? 0 : 1)) ^ (i % 3 ? 0 : 0x38000000u);
    const double x = to_double(f32, word);
    const bool finite = !std::isnan(x);
    const bool same = f32_to_f16_rn(word) == encode(f16, x) && f32_to_bf16_rn(word) == encode(bf16, x) &&
                      (!finite || f32_to_tf32(word, Rounding::rn, false) == encode(tf32, x)) &&
                      (!finite || f32_to_tf32(word, Rounding::rna, true) == encode(tf32, x, Rounding::rna, true));
    if (!same) CHECK(word == 0);
  }
  for (std::uint32_t word = 0; word < 0x10000; ++word) {
    const double x = to_double(f16, word);
    if (!std::isnan(x) && f16_to_f32(static_cast<std::uint16_t>(word)) != encode(f32, x)) CHECK(word == 0);
  }
  CHECK(f16_to_f32(0xFE01) == 0x7FFFFFFF);
  CHECK(bf16_to_f32(0xFF81) == 0xFF810000);
}

TEST_CASE("narrowing a NaN from f64 to f32 keeps sign and payload and makes it quiet") {
  CHECK(encode(f32, std::bit_cast<double>(0x7FF8000100000000ull)) == 0x7FC00008);
  CHECK(encode(f32, std::bit_cast<double>(0xFFF0FFF000000000ull)) == 0xFFC7FF80);
}

TEST_CASE("decoding keeps the encoded exponent of a subnormal and ignores what the format has not") {
  const Number n = decode(f16, 0x8001);
  CHECK(n.m == -1);
  CHECK(n.lsb == -24);
  CHECK(n.e == -14);
  CHECK(decode(tf32, 0x7F800001).kind == NumberClass::infinite);  // its payload lies in the ignored bits
  CHECK(decode(ue4m3, 0x80).m == 0);
  CHECK(to_double(ue4m3, 0xB8) == 1);
  CHECK(decode(ue8m0, 0).m == 1);
  CHECK(to_double(ue8m0, 0) == 0x1p-127);
  CHECK(decode(e4m3, 0xFF).kind == NumberClass::nan);
  CHECK(std::signbit(to_double(e2m1, 8)));
}

}  // namespace num_format
