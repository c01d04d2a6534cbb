// Words that an H200 (driver 580.159.04) returned where the simulator once said otherwise.
#include <doctest/doctest.h>

#include "tests/unit/sim/eval.hpp"

namespace sim_hopper_words {

using namespace kiln;
using namespace kiln::test;

namespace {

// Each has operands %r1, %r2, %r3 (%h1, %h2, %h3: their low halves) and a result in %r9.
struct Captured {
  const char* instruction;
  u32 a, b, c, result;
};
const std::string low_halves = "mov.b32 {%h1, %h4}, %r1; mov.b32 {%h2, %h4}, %r2; mov.b32 {%h3, %h4}, %r3; ";

// The same with %rd1, %rd2, %rd3 and %rd9.
struct CapturedWide {
  const char* instruction;
  u64 a, b, c, result;
};

template <class Row, std::size_t n>
void check(const Row (&rows)[n]) {
  for (const Row& row : rows) {
    CAPTURE(row.instruction);
    CAPTURE(row.a);
    if constexpr (sizeof(row.a) == 8)
      CHECK(eval64(row.instruction, row.a, row.b, row.c) == row.result);
    else
      CHECK(eval(low_halves + row.instruction, row.a, row.b, row.c) == row.result);
  }
}

}  // namespace

TEST_CASE("saturation and relu turn -0 into +0") {
  const Captured rows[] = {
      {"add.sat.f32 %r9, %r1, %r2;", 0x80000000, 0x80000000, 0, 0},
      {"mul.sat.f32 %r9, %r1, %r2;", 0x80000000, 0, 0, 0},
      {"fma.rn.sat.f32 %r9, %r1, %r2, %r3;", 0xC0000000, 0, 0x80000000, 0},
      {"mul.sat.f16x2 %r9, %r1, %r2;", 0x3BFF8000, 0x80010000, 0, 0},
      {"fma.rn.relu.bf16x2 %r9, %r1, %r2, %r3;", 0x80003F7F, 0x7E008001, 0x80003F7F, 0x3F7F},
      {"cvt.sat.f32.f32 %r9, %r1;", 0x80000000, 0, 0, 0},
      {"cvt.rni.sat.f32.f32 %r9, %r1;", 0x80000001, 0, 0, 0},
      {"cvt.rp.sat.f16.f32 %h5, %r1; cvt.u32.u16 %r9, %h5;", 0x80000000, 0, 0, 0},
  };
  check(rows);
}

TEST_CASE("ftz flushes what is subnormal after rounding without an end of the exponent") {
  const Captured rows[] = {
      {"mul.ftz.f32 %r9, %r1, %r2;", 0x3F7FFFFF, 0x00800000, 0, 0},
      {"mul.rm.ftz.f32 %r9, %r1, %r2;", 0xBF7FFFFF, 0x00800000, 0, 0x80000000},
      {"fma.rn.ftz.f32 %r9, %r1, %r2, %r3;", 0xBF7FFFFF, 0x80800000, 0x807FFFFF, 0},
      {"fma.rn.ftz.f32 %r9, %r1, %r2, %r3;", 0x20000000, 0x80800000, 0x00800000, 0x00800000},
      {"fma.rm.ftz.f32 %r9, %r1, %r2, %r3;", 0x80800000, 0xA0000000, 0x80800000, 0x80800000},
      {"mul.ftz.f16x2 %r9, %r1, %r2;", 0x8400007F, 0x3BFF8000, 0, 0x80008000},
      {"div.rp.ftz.f32 %r9, %r1, %r2;", 0x00800000, 0x3F800001, 0, 0},
      {"abs.ftz.f32 %r9, %r1;", 1, 0, 0, 0},
      {"neg.ftz.f32 %r9, %r1;", 1, 0, 0, 0x80000000},
      {"slct.ftz.b32.f32 %r9, %r1, %r2, %r3;", 0x20000000, 0, 0x807FFFFF, 0x20000000},
      {"cvt.rm.ftz.f16.f32 %h5, %r1; cvt.u32.u16 %r9, %h5;", 0x80000001, 0, 0, 0x8001},
      {"cvt.rp.ftz.f16.f32 %h5, %r1; cvt.u32.u16 %r9, %h5;", 0x7FFF, 0, 0, 1},
  };
  check(rows);
}

TEST_CASE("a sum that cancels is -0 when rounding down") {
  const Captured rows[] = {
      {"add.rm.f32 %r9, %r1, %r2;", 0x80000000, 0, 0, 0x80000000},
      {"sub.rm.f32 %r9, %r1, %r2;", 0, 0, 0, 0x80000000},
      {"fma.rm.f32 %r9, %r1, %r2, %r3;", 0x3F800001, 0x00800000, 0x80800001, 0x80000000},
  };
  check(rows);
}

TEST_CASE("NaNs of f16, bf16 and f32 become one, those of f64 keep their payload") {
  const Captured rows[] = {
      {"abs.f32 %r9, %r1;", 0x7FC00000, 0, 0, 0x7FFFFFFF},
      {"neg.f32 %r9, %r1;", 0x7FC00000, 0, 0, 0x7FFFFFFF},
      {"neg.bf16x2 %r9, %r1;", 0x7FC0BC00, 0, 0, 0x7FFF3C00},
      {"abs.f16x2 %r9, %r1;", 0x7E008001, 0, 0, 0x7FFF0001},
      {"cvt.f32.f32 %r9, %r1;", 0x7F800001, 0, 0, 0x7F800001},
      {"cvt.ftz.f32.f32 %r9, %r1;", 0x7F800001, 0, 0, 0x7FFFFFFF},
      {"cvt.rni.f32.f32 %r9, %r1;", 0x7FC00000, 0, 0, 0x7FFFFFFF},
      {"cvt.rn.f32.bf16 %r9, %h1;", 0x7F81, 0, 0, 0x7F810000},
      {"cvt.ftz.f32.bf16 %r9, %h1;", 0x7F81, 0, 0, 0x7FFFFFFF},
  };
  check(rows);
  const CapturedWide wide[] = {
      {"add.f64 %rd9, %rd1, %rd2;", 0x7FF0000000000001, 0x7FF8000000000000, 0, 0x7FF8000000000000},
      {"add.rz.f64 %rd9, %rd1, %rd2;", 0xFFFFFFFFFFFFFFFF, 0x7FF0000000000001, 0, 0x7FF8000000000001},
      {"fma.rn.f64 %rd9, %rd1, %rd2, %rd3;", 0x7FF8000000000000, 0, 0x7FFFFFFFFFFFFFFF, 0x7FFFFFFFFFFFFFFF},
      {"fma.rn.f64 %rd9, %rd1, %rd2, %rd3;", 0x7FF8000000000000, 0x7FF0000000000001, ~u64{0}, 0x7FF8000000000001},
      {"div.rn.f64 %rd9, %rd1, %rd2;", 0xFFF0000000000001, 0x7FF8000000000000, 0, 0xFFF8000000000001},
      {"min.f64 %rd9, %rd1, %rd2;", 0x7FFFFFFFFFFFFFFF, 0x7FF0000000000001, 0, 0x7FF8000000000001},
      {"neg.f64 %rd9, %rd1;", 0x7FF0000000000001, 0, 0, 0x7FF8000000000001},
      {"abs.f64 %rd9, %rd1;", 0xFFF8000000000000, 0, 0, 0xFFF8000000000000},
      {"cvt.rni.f64.f64 %rd9, %rd1;", 0xFFF0000000000001, 0, 0, 0xFFF8000000000001},
      {"cvt.rn.f32.f64 %f9, %rd1; mov.b32 %r9, %f9; cvt.u64.u32 %rd9, %r9;", 0xFFF0000000000001, 0, 0, 0xFFC00000},
  };
  check(wide);
}

TEST_CASE("a NaN that loses still gives its sign to xorsign") {
  const Captured rows[] = {
      {"min.xorsign.abs.f32 %r9, %r1, %r2;", 0xFFC00000, 0, 0, 0x80000000},
      {"min.xorsign.abs.f16x2 %r9, %r1, %r2;", 0xFF810400, 0x80010000, 0, 0x00010000},
  };
  check(rows);
}

TEST_CASE("zero is normal to testp, f64 NaNs are the sign bit as integers") {
  const Captured rows[] = {
      {"testp.normal.f32 %p1, %r1; selp.u32 %r9, 1, 0, %p1;", 0, 0, 0, 1},
  };
  check(rows);
  const CapturedWide wide[] = {
      {"cvt.rni.s32.f64 %r9, %rd1; cvt.u64.u32 %rd9, %r9;", 0x7FF0000000000001, 0, 0, 0x80000000},
      {"cvt.rzi.u8.f64 %r9, %rd1; cvt.u64.u32 %rd9, %r9;", 0x7FF8000000000000, 0, 0, 0x80},
  };
  check(wide);
}

TEST_CASE("fields of 64-bit words take whole words as position and length, a borrow is a carry that is not there") {
  const CapturedWide wide[] = {
      {"cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd2; bfe.u64 %rd9, %rd1, %r2, %r1;", 0x8000, 1, 0, 0x4000},
      {"cvt.u32.u64 %r2, %rd2; bfi.b64 %rd9, %rd1, %rd2, %r2, 7;", 1, 0x8000, 0, 0x8000},
  };
  check(wide);
  const Captured rows[] = {
      {"sub.cc.u32 %r9, %r1, %r2; subc.cc.u32 %r9, %r3, %r1; addc.u32 %r9, %r9, 0;", 0, 0, 0, 1},
      {"sub.cc.u32 %r9, %r1, %r2; subc.cc.u32 %r9, %r3, %r1; addc.u32 %r9, %r9, 0;", 2, 0, 0x8000, 0x7FFF},
      {"set.eq.u32.f16x2 %r9, %r1, %r2;", 0x3BFF8000, 0x80010000, 0, 0x0000FFFF},
      {"set.ltu.u32.bf16x2 %r9, %r1, %r2;", 0xC0000001, 0x80010000, 0, 0xFFFF0000},
  };
  check(rows);
}

}  // namespace sim_hopper_words
