// Conversions and arithmetic of PTX 9.1 to 9.4. Expected words follow from the formats (PTX ISA "Alternate
// Floating-Point Data Formats", "Fixed-point Data format") and from the semantics of each instruction.
#include <limits>

#include "tests/unit/sim/eval.hpp"

namespace kiln::test {
namespace {

u32 word_of(float v) { return std::bit_cast<u32>(v); }
constexpr std::string_view from_half = "cvt.u16.u32 %h1, %r1; ";
constexpr std::string_view to_word = " cvt.u32.u16 %r9, %h9;";

std::string narrowed(const std::string& cvt) { return cvt + std::string(to_word); }
std::string widened(const std::string& cvt) { return std::string(from_half) + cvt; }

// What an instruction lacks.
bool has_no_model(const std::string& op, u32 a, u32 b = 0) {
  const Run r = run_kernel(kernel("mov.u32 %r1, " + digits(a) + "; mov.u32 %r2, " + digits(b) + ";\n" + op +
                                  "\nst.global.u32 [%out], %r9;"));
  return r.sink.incomplete();
}

TEST_CASE("halves become narrower floats, the upper one the upper") {
  CHECK(eval(narrowed("cvt.rn.satfinite.e4m3x2.bf16x2 %h9, %r1;"), 0x3F80C000) == 0x38C0);
  CHECK(eval(narrowed("cvt.rn.satfinite.e5m2x2.bf16x2 %h9, %r1;"), 0x7F80FF80) == 0x7BFB);
  CHECK(eval(narrowed("cvt.rn.satfinite.e2m3x2.f16x2 %h9, %r1;"), 0x3C00BC80) == 0x0829);
  CHECK(eval(narrowed("cvt.rn.satfinite.relu.e3m2x2.f16x2 %h9, %r1;"), 0x3C00BC00) == 0x0C00);
  CHECK(eval(".reg .b8 %b; cvt.rn.satfinite.e2m1x2.bf16x2 %b, %r1; cvt.u32.u8 %r9, %b;", 0x40C03F00) == 0x71);
}

TEST_CASE("narrower floats become bf16, by a factor each") {
  CHECK(eval(widened("cvt.rn.bf16x2.e4m3x2 %r9, %h1;"), 0x38C0) == 0x3F80C000);
  CHECK(eval(widened("cvt.rn.relu.bf16x2.e4m3x2 %r9, %h1;"), 0x38C0) == 0x3F800000);
  CHECK(eval(widened("cvt.rn.bf16x2.e5m2x2 %r9, %h1;"), 0x7CFC) == 0x7F80FF80);
  CHECK(eval(widened("cvt.rn.satfinite.bf16x2.e5m2x2 %r9, %h1;"), 0x7CFC) == 0x7F7FFF7F);
  const std::string scaled = "cvt.u16.u32 %h2, %r2; cvt.rn.satfinite.scaled::n2::ue8m0.bf16x2.";
  CHECK(eval(widened(scaled + "e4m3x2 %r9, %h1, %h2;"), 0x3838, 0x807E) == 0x40003F00);
  CHECK(eval(widened(scaled + "ue5m3x2 %r9, %h1, %h2;"), 0xFE01, 0x707F) == 0x40603700);
  CHECK(eval(widened(scaled + "e4m3x2 %r9, %h1, %h2;"), 0x3838, 0xFF7F) == 0x7FFF3F80);
}

TEST_CASE("ue5m3 takes magnitudes, and has a NaN but no infinity") {
  const auto cvt = [](const std::string& form, float a, float b) {
    return evalf("cvt." + form + ".ue5m3x2.f32 %h9, %f1, %f2; cvt.u32.u16 %r5, %h9; mov.b32 %f9, %r5;", a, b);
  };
  CHECK(cvt("rp.satfinite", 1.0625f, 1.1875f) == 0x797A);
  CHECK(cvt("rn.satfinite", 0x1p-17f, 114688) == 0x01FE);
  CHECK(cvt("rz.satfinite", 1.0625f, -1.1875f) == 0x7879);
  CHECK(cvt("rp", -1.0625f, 0) == 0x7900);
  CHECK(cvt("rn.satfinite", 1e30f, -1e30f) == 0xFEFE);
  CHECK(cvt("rn", 118784, 118785) == 0xFEFF);  // the tie goes to the even code, which is finite
  CHECK(cvt("rz", 1e30f, std::numeric_limits<float>::infinity()) == 0xFEFF);
  CHECK(eval(widened("cvt.rn.f16x2.ue5m3x2 %r9, %h1;"), 0x0178) == 0x00803C00);
  CHECK(eval(narrowed("cvt.rz.satfinite.ue5m3x2.f16x2 %h9, %r1;"), 0x3C403CC0) == 0x7879);
}

TEST_CASE("one factor divides both elements, and flushes subnormals") {
  const std::string factor = ".reg .b8 %s; cvt.u8.u32 %s, %r3; ";
  const auto cvt = [&](const std::string& form, u32 a, u32 b, u32 by) {
    return eval(
        factor + "mov.b32 %f1, %r1; mov.b32 %f2, %r2; cvt." + form + ".f32 %h9, %f1, %f2, %s;" + std::string(to_word),
        a, b, by);
  };
  CHECK(cvt("rn.satfinite.scaled::n1::ue8m0.e4m3x2", 0x41000000, 0x40800000, 130) == 0x3830);
  CHECK(cvt("rz.satfinite.scaled::n1::ue8m0.e2m3x2", word_of(2.125f), word_of(-2.375f), 128) == 0x0829);
  CHECK(cvt("rn.satfinite.scaled::n1::ue8m0.e4m3x2", 0x00400000, word_of(1), 0) == 0x007E);
  CHECK(cvt("rn.satfinite.scaled::n1::ue8m0.ue5m3x2", word_of(2.125f), word_of(2.375f), 128) == 0x787A);
  CHECK(has_no_model(factor + "mov.b32 %f1, %r1; cvt.rn.satfinite.scaled::n1::ue8m0.e4m3x2.f32 %h9, %f1, %f1, %s;",
                     0x80400000));
}

TEST_CASE(".pzo gives zeros no sign") {
  const auto cvt = [](const std::string& form) {
    return evalf("cvt." + form + ".f32 %h9, %f1, %f2; cvt.u32.u16 %r5, %h9; mov.b32 %f9, %r5;", -1e-30f, -0.0f);
  };
  CHECK(cvt("rz.satfinite.e4m3x2") == 0x8080);
  CHECK(cvt("rz.satfinite.pzo.e4m3x2") == 0);
  CHECK(evalf("cvt.rn.pzo.f16x2.f32 %r5, %f1, %f2; mov.b32 %f9, %r5;", -0.0f, -1) == 0x0000BC00);
  CHECK(evalf("cvt.rn.pzo.bf16.f32 %h9, %f1; cvt.u32.u16 %r5, %h9; mov.b32 %f9, %r5;", -0.0f) == 0);
  CHECK(evalf("cvt.rn.pzo.tf32.f32 %r5, %f1; mov.b32 %f9, %r5;", -0.0f) == 0);
}

TEST_CASE("s2f6 is a signed byte in units of 1/64") {
  const auto cvt = [](const std::string& form, float a, float b, u32 factors = 0x7F7F) {
    const std::string scale = form.find("scaled") == std::string::npos ? "" : ", %h3";
    return eval("mov.b32 %f1, %r1; mov.b32 %f2, %r2; cvt.u16.u32 %h3, %r3; cvt." + form + ".f32 %h9, %f1, %f2" + scale +
                    ";" + std::string(to_word),
                word_of(a), word_of(b), factors);
  };
  CHECK(cvt("rn.satfinite.s2f6x2", 1.984375f, -2) == 0x7F80);
  CHECK(cvt("rn.satfinite.s2f6x2", 5, -5) == 0x7F80);
  CHECK(cvt("rn.satfinite.s2f6x2", 0.5f / 64, 1.5f / 64) == 0x0002);  // ties go to the even code
  CHECK(cvt("rz.satfinite.s2f6x2", -1.5f / 64, 1.5f / 64) == 0xFF01);
  CHECK(cvt("rn.satfinite.relu.s2f6x2", -1, 1) == 0x0040);
  CHECK(cvt("rn.satfinite.scaled::n2::ue8m0.s2f6x2", 2, 2, 0x807F) == 0x407F);
  CHECK(eval(narrowed("cvt.rn.satfinite.s2f6x2.bf16x2 %h9, %r1;"), 0x3F80BF80) == 0x40C0);
  CHECK(eval(widened("cvt.rn.bf16x2.s2f6x2 %r9, %h1;"), 0x7F80) == 0x3FFEC000);
  CHECK(eval(widened("cvt.u16.u32 %h2, %r2; cvt.rn.scaled::n2::ue8m0.bf16x2.s2f6x2 %r9, %h1, %h2;"), 0x4040, 0x807E) ==
        0x40003F00);
  CHECK(has_no_model("cvt.rn.satfinite.s2f6x2.bf16x2 %h9, %r1;", 0x7FC00000));
}

TEST_CASE("four narrow floats are multiplied, and rounded once") {
  CHECK(eval("mul.rn.satfinite.e4m3x4.e4m3x4.e5m2x4 %r9, %r1, %r2;", 0x38384CC0, 0x3CC03C7B) == 0x38C04CFE);
  CHECK(eval("cvt.u16.u32 %h1, %r1; mul.rn.satfinite.e4m3x4.e2m1x4.e4m3x4 %r9, %h1, %r2;", 0x2A71, 0x38383838) ==
        0x38B84C30);
  CHECK(has_no_model("mul.rn.e4m3x4.e4m3x4.e4m3x4 %r9, %r1, %r2;", 0x38383838, 0x38383838));
}

TEST_CASE("packed bytes are added, compared and negated one by one") {
  CHECK(eval("add.u8x4 %r9, %r1, %r2;", 0xF07F8080, 0x20010180) == 0x10808100);
  CHECK(eval("add.sat.u8x4 %r9, %r1, %r2;", 0xF07F8080, 0x20010180) == 0xFF8081FF);
  CHECK(eval("add.sat.s8x4 %r9, %r1, %r2;", 0xF07F8080, 0x20010180) == 0x107F8180);
  CHECK(eval("sub.sat.u8x4 %r9, %r1, %r2;", 0x01FF8000, 0x02018001) == 0x00FE0000);
  CHECK(eval("sub.sat.s8x4 %r9, %r1, %r2;", 0x7F80FF00, 0xFF017F01) == 0x7F8080FF);
  CHECK(eval("max.relu.s8x4 %r9, %r1, %r2;", 0x05FB807F, 0xFE04FDFE) == 0x0504007F);
  CHECK(eval("min.u8x4 %r9, %r1, %r2;", 0x05FB807F, 0xFE04FDFE) == 0x0504807F);
  CHECK(eval("neg.s8x4 %r9, %r1;", 0x8001FF00) == 0x80FF0100);
  CHECK(eval("add.sat.u16x2 %r9, %r1, %r2;", 0xFFF00001, 0x0020FFFF) == 0xFFFFFFFF);
  CHECK(eval("add.sat.s16x2 %r9, %r1, %r2;", 0x7FFF8000, 0x0001FFFF) == 0x7FFF8000);
  CHECK(eval("add.sat.u32 %r9, %r1, %r2;", 0xFFFFFFF0, 0x20) == 0xFFFFFFFF);
  CHECK(eval("set.lt.s8x4 %r9, %r1, %r2;", 0x05FB807F, 0xFE04FDFE) == 0x00FFFF00);
  CHECK(eval("set.lo.u8x4 %r9, %r1, %r2;", 0x05FB807F, 0xFE04FDFE) == 0xFF00FFFF);
  CHECK(eval("set.ge.s16x2 %r9, %r1, %r2;", 0x05FB807F, 0xFE04FDFE) == 0xFFFF0000);
}

TEST_CASE("pairs of f32 and of halves mix") {
  const auto pair = [](float high, float low) { return u64{word_of(high)} << 32 | word_of(low); };
  const auto mixed = [](const std::string& op, u32 a, u64 b, u64 c = 0) {
    return eval64("cvt.u32.u64 %r1, %rd1; " + op, a, b, c);
  };
  CHECK(mixed("add.f32x2.f16x2.f32x2 %rd9, %r1, %rd2;", 0x3C00C000, pair(0.5f, 0.25f)) == pair(1.5f, -1.75f));
  CHECK(mixed("sub.rz.f32x2.bf16x2.f32x2 %rd9, %r1, %rd2;", 0x3F804000, pair(0.5f, 0.25f)) == pair(0.5f, 1.75f));
  CHECK(mixed("fma.rn.f32x2.f16x2.f32x2.f32x2 %rd9, %r1, %rd2, %rd3;", 0x3C00C000, pair(3, 5), pair(1, 1)) ==
        pair(4, -9));
  CHECK(mixed("mul.rz.bf16x2.f32x2.f32x2 %r9, %rd2, %rd3; cvt.u64.u32 %rd9, %r9;", 0, pair(1.0078125f, -3),
              pair(1.0078125f, 2)) == 0x3F82C0C0);
  CHECK(mixed("add.rz.ftz.f16x2.f32x2.f32x2 %r9, %rd2, %rd3; cvt.u64.u32 %rd9, %r9;", 0, pair(1, 0x1p-130f),
              pair(1, 2)) == 0x40004000);
}

TEST_CASE("clmad multiplies without carries") {
  CHECK(eval64("clmad.lo.u64 %rd9, %rd1, %rd2, %rd3;", 0b1011, 0b110, 0b1) == (0b111010 ^ 1));
  CHECK(eval64("clmad.hi.u64 %rd9, %rd1, %rd2, %rd3;", 1ull << 63, 0b110, 0b1000) == (0b11 ^ 0b1000));
}

}  // namespace
}  // namespace kiln::test
