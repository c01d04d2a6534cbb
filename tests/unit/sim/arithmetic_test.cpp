// Less common arithmetic: mixed precision, three operands, predicates beside results, stochastic rounding.
#include <doctest/doctest.h>

#include <cmath>

#include "ptx/num/format.hpp"
#include "tests/unit/sim/eval.hpp"

namespace sim_arithmetic {

using namespace kiln;
using namespace kiln::test;

namespace {

const std::string halves = "mov.b32 {%h1, %h2}, %r1; mov.b32 %f3, %r2; ";
const std::string give = " mov.b32 %r9, %f9;";
u32 word(float v) { return std::bit_cast<u32>(v); }
float nan() { return std::bit_cast<float>(0x7FC00001u); }

}  // namespace

TEST_CASE("sums of a half and an f32 round once, in f32") {
  const u32 f16s = 0x34003C01;  // 0.25 and 1 + 2^-10
  CHECK(eval(halves + "add.f32.f16 %f9, %h1, %f3;" + give, f16s, word(3.0f)) == word(4.0009765625f));
  CHECK(eval(halves + "sub.f32.f16 %f9, %h1, %f3;" + give, f16s, word(3.0f)) == word(-1.9990234375f));
  // 2^24 and 1 + 2^-10: to the nearest even 2^24, upwards 2^24 + 2
  CHECK(eval(halves + "add.f32.f16 %f9, %h1, %f3;" + give, f16s, word(16777216.0f)) == word(16777218.0f));
  CHECK(eval(halves + "add.rz.f32.f16 %f9, %h1, %f3;" + give, f16s, word(16777216.0f)) == word(16777216.0f));
  CHECK(eval(halves + "add.rm.f32.f16 %f9, %h1, %f3;" + give, f16s, word(-16777216.0f)) == word(-16777215.0f));
  CHECK(eval(halves + "add.sat.f32.f16 %f9, %h1, %f3;" + give, f16s, word(3.0f)) == word(1.0f));
  CHECK(eval(halves + "fma.rn.f32.f16 %f9, %h1, %h2, %f3;" + give, f16s, word(0.5f)) ==
        word(std::fma(1.0009765625f, 0.25f, 0.5f)));
  CHECK(eval(halves + "fma.rn.f32.bf16 %f9, %h1, %h2, %f3;" + give, 0x40403FC0, word(1.0f)) == word(1.5f * 3 + 1));
  CHECK(eval(halves + "sub.f32.bf16 %f9, %h2, %f3;" + give, 0x40403FC0, word(1.0f)) == word(2.0f));
}

TEST_CASE("min and max of three") {
  CHECK(evalf("max.f32 %f9, %f1, %f2, %f3;", 1, 5, 3) == word(5));
  CHECK(evalf("min.f32 %f9, %f1, %f2, %f3;", 4, 5, 3) == word(3));
  CHECK(evalf("min.f32 %f9, %f1, %f2, %f3;", 4, nan(), 3) == word(3));
  CHECK(evalf("min.NaN.f32 %f9, %f1, %f2, %f3;", 4, nan(), 3) == 0x7FFFFFFF);
  CHECK(evalf("max.abs.f32 %f9, %f1, %f2, %f3;", -7, 5, 3) == word(7));
}

TEST_CASE("lop3 gives a predicate beside its result") {
  const auto both = [](const std::string& how, u32 a, const std::string& p) {
    return eval("setp.eq.u32 %p2, 0, " + p + "; lop3." + how +
                    ".b32 %r4|%p1, %r1, %r2, %r3, 0xC0, %p2; selp.u32 %r5, 16, 0, %p1; add.u32 %r9, %r4, %r5;",
                a, 7, 0);
  };
  CHECK(both("or", 8, "1") == 0);
  CHECK(both("or", 8, "0") == 16);
  CHECK(both("or", 12, "1") == 16 + 4);
  CHECK(both("and", 12, "1") == 4);
  CHECK(both("and", 12, "0") == 16 + 4);
  CHECK(both("and", 8, "0") == 0);
}

TEST_CASE("fns finds the n-th set bit, up or down") {
  const auto fns = [](u32 mask, u32 base, int n) { return eval("fns.b32 %r9, %r1, %r2, %r3;", mask, base, u32(n)); };
  CHECK(fns(0b10110, 0, 1) == 1);
  CHECK(fns(0b10110, 0, 3) == 4);
  CHECK(fns(0b10110, 2, 1) == 2);
  CHECK(fns(0b10110, 3, -1) == 2);
  CHECK(fns(0b10110, 31, -3) == 1);
  CHECK(fns(0b10110, 0, 4) == ~u32{0});
  CHECK(fns(0b10110, 2, 0) == 2);
  CHECK(fns(0b10110, 3, 0) == ~u32{0});
}

TEST_CASE("set compares both halves of a pair") {
  CHECK(eval("set.gt.f16x2.f16x2 %r9, %r1, %r2;", 0x40003C00, 0x3C003C00) == 0x3C000000);
  CHECK(eval("set.ge.bf16x2.bf16x2 %r9, %r1, %r2;", 0x3F803F80, 0x3F804000) == 0x3F800000);
  CHECK(eval("setp.eq.u32 %p1, %r3, 0; set.ge.xor.f16x2.f16x2 %r9, %r1, %r2, %p1;", 0x40003C00, 0x3C004000, 0) ==
        0x3C00);
}

TEST_CASE("stochastic rounding adds random bits to what is cut off") {
  const auto rs = [](const std::string& type, float a, float b, u32 random) {
    return eval("mov.b32 %f1, %r1; mov.b32 %f2, %r2; cvt.rs" + type + ".f32 %r9, %f1, %f2, %r3;", word(a), word(b),
                random);
  };
  // 1 + 3/4 of the last place of f16: it goes up with random bits of at least a quarter of their range of 13 bits.
  const float x = 1 + 0.75f / 1024;
  CHECK(rs(".f16x2", x, x, 0x07FF'0800) == 0x3C003C01);
  CHECK(rs(".f16x2", -x, 1, 0xE800'1FFF) == 0xBC013C00);
  const float y = 1 + 0.25f / 128;
  CHECK(rs(".bf16x2", y, y, 0xBFFF'C000) == 0x3F803F81);
  CHECK(rs(".relu.bf16x2", -y, y, 0xFFFF'0000) == 0x00003F80);
  CHECK(rs(".f16x2", 65519, 1e30f, 0x1FFF'0000) == 0x7C007C00);
  CHECK(rs(".satfinite.f16x2", 65519, 1e30f, 0x1FFF'0000) == 0x7BFF7BFF);
}

TEST_CASE("cvt.pack saturates and keeps what is given beside") {
  CHECK(eval("cvt.pack.sat.s16.s32 %r9, %r1, %r2;", 70000, u32(-70000)) == 0x7FFF8000);
  CHECK(eval("cvt.pack.sat.u16.s32 %r9, %r1, %r2;", 70000, u32(-1)) == 0xFFFF0000);
  CHECK(eval("cvt.pack.sat.u8.s32.b32 %r9, %r1, %r2, %r3;", 300, 5, 0xABCD1234) == 0x1234FF05);
  CHECK(eval("cvt.pack.sat.s4.s32.b32 %r9, %r1, %r2, %r3;", u32(-20), 3, 0x00ABCDEF) == 0xABCDEF83);
  CHECK(eval("cvt.pack.sat.u2.s32.b32 %r9, %r1, %r2, %r3;", 9, 1, 0xF) == 0xFD);
}

TEST_CASE("mad24.hi saturates") {
  CHECK(eval("mad24.hi.sat.s32 %r9, %r1, %r2, %r3;", 0x007FFFFF, 0x007FFFFF, 0x7FFFFFFF) == 0x7FFFFFFF);
  CHECK(eval("mad24.hi.sat.s32 %r9, %r1, %r2, %r3;", 0x00800000, 0x007FFFFF, 0x80000000) == 0x80000000);
}

TEST_CASE("clocks may be taken apart, and only grow") {
  const Run r =
      run_kernel(kernel("mov.b64 {%r1, %r2}, %clock64; cvt.u64.u32 %rd1, %clock; mov.u64 %rd2, %globaltimer; "
                        "mov.u32 %r3, %clock_hi; st.global.u32 [%out], %r1; st.global.u64 [%out+8], %rd1; "
                        "st.global.u64 [%out+16], %rd2; st.global.v2.u32 [%out+24], {%r2, %r3};"));
  CHECK_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<u32>("out");
  CHECK(out[0] <= out[2]);
  CHECK(out[2] <= out[4]);
  CHECK(out[3] + out[5] + out[6] + out[7] == 0);
}

TEST_CASE("fma.oob takes the NaN that a copy fills in for zero") {
  // Values captured on an H200: the third operand does not count, other NaNs stay NaNs.
  const std::string fma =
      "mov.b32 {%h1, %h2}, %r1; mov.b32 {%h3, %h4}, %r2; fma.rn.oob.f16 %h5, %h1, %h2, %h3; "
      "cvt.u32.u16 %r9, %h5;";
  CHECK(eval(fma, 0x3C007FF7, 0x3C00) == 0);
  CHECK(eval(fma, 0xFFF73C00, 0x3C00) == 0);
  CHECK(eval(fma, 0x3C007FFF, 0x3C00) == 0x7FFF);
  CHECK(eval(fma, 0x3C007FF6, 0x3C00) == 0x7FFF);
  CHECK(eval(fma, 0x3C003C00, 0x7FF7) == 0x7FFF);
  CHECK(eval(fma, 0x3C003C00, 0x3C00) == 0x4000);
  CHECK(eval("fma.rn.oob.bf16x2 %r9, %r1, %r2, %r3;", 0x7FF73F80, 0x3F803F80, 0x3F803F80) == 0x4000);
}

}  // namespace sim_arithmetic
