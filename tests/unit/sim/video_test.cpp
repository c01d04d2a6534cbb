// Video instructions. The scalar ones against values worked out by hand from the pseudocode of the PTX ISA, the SIMD
// ones against arrays of bytes and half-words.
#include <algorithm>
#include <array>
#include <cstring>

#include "tests/unit/sim/eval.hpp"

namespace sim_video {

using namespace kiln;
using namespace kiln::test;

namespace {

struct Case {
  const char* op;
  u32 a, b, c, expected;
};

void check(const Case& k) {
  INFO(k.op);
  CHECK(eval(k.op, k.a, k.b, k.c) == k.expected);
}

// What a SIMD instruction does, on arrays: T is the element as the sources see it.
template <class S, class T>
u32 elementwise(u32 a, u32 b, u32 c, bool adds, S (*f)(T, T)) {
  constexpr std::size_t n = 4 / sizeof(T);
  std::array<T, n> x, y;
  std::array<std::make_unsigned_t<T>, n> z;
  std::memcpy(x.data(), &a, 4);
  std::memcpy(y.data(), &b, 4);
  for (std::size_t k = 0; k < n; ++k) {
    const S one = f(x[k], y[k]);
    c += adds ? u32(one) : 0;
    z[k] = std::make_unsigned_t<T>(one);
  }
  u32 r;
  std::memcpy(&r, z.data(), 4);
  return adds ? c : r;
}

template <class T>
void check_simd(const std::string& suffix, const std::string& types) {
  struct Op {
    const char* name;
    int (*f)(T, T);
  };
  const Op ops[] = {
      {"vadd", [](T x, T y) { return x + y; }},
      {"vsub", [](T x, T y) { return x - y; }},
      {"vabsdiff", [](T x, T y) { return std::abs(x - y); }},
      {"vmin", [](T x, T y) { return int(x < y ? x : y); }},
      {"vmax", [](T x, T y) { return int(x < y ? y : x); }},
      {"vavrg", [](T x, T y) { return x + y >= 0 ? (x + y + 1) / 2 : (x + y - ((x + y) % 2 ? 1 : 0)) / 2; }},
  };
  const u32 a = 0x80FF7F01, b = 0x7F01FF80, c = 1000;
  for (const Op& op : ops) {
    const std::string name = op.name + suffix + types;
    check({(name + " %r9, %r1, %r2, %r3;").c_str(), a, b, c, elementwise<int, T>(a, b, c, false, op.f)});
    check({(name + ".add %r9, %r1, %r2, %r3;").c_str(), a, b, c, elementwise<int, T>(a, b, c, true, op.f)});
  }
}

}  // namespace

TEST_CASE("a scalar video instruction extracts, combines, saturates, and combines again or merges") {
  const Case cases[] = {
      {"vadd.s32.u32.s32 %r9, %r1.b0, %r2.h1;", 0x123456F0, 0x80000001, 0, minus(32528)},
      {"vadd.u32.u32.s32.sat %r9, %r1, %r2;", 5, minus(7), 0, 0},
      {"vadd.s32.u32.u32.sat %r9, %r1, %r2;", ~0u, 1, 0, 0x7FFFFFFF},
      {"vadd.u32.u32.u32 %r9, %r1, %r2;", ~0u, 2, 0, 1},
      {"vsub.s32.s32.s32.sat %r9.b1, %r1, %r2, %r3;", 1000, 1, 0xAABBCCDD, 0xAABB7FDD},
      {"vsub.u32.s32.s32.sat %r9.h0, %r1, %r2, %r3;", 1, 9, 0xAABBCCDD, 0xAABB0000},
      {"vsub.s32.s32.s32 %r9.h1, %r1, %r2, %r3;", 1, 3, 0xAABBCCDD, 0xFFFECCDD},
      {"vabsdiff.u32.s32.s32 %r9, %r1, %r2;", minus(5), 7, 0, 12},
      {"vabsdiff.u32.s32.s32 %r9, %r1, %r2;", 0x80000000, 0x7FFFFFFF, 0, ~0u},
      {"vabsdiff.s32.s32.s32.sat %r9, %r1, %r2;", 0x80000000, 0x7FFFFFFF, 0, 0x7FFFFFFF},
      {"vmin.s32.s32.s32.add %r9, %r1, %r2, %r3;", minus(3), 4, 10, 7},
      {"vmax.s32.s32.u32 %r9, %r1.b3, %r2.b2;", 0x90000000, 0x00030000, 0, 3},
      {"vadd.u32.u32.u32.max %r9, %r1, %r2, %r3;", 3, 4, 9, 9},
      {"vadd.s32.s32.s32.min %r9, %r1, %r2, %r3;", 3, 4, minus(1), minus(1)},
      {"vadd.u32.u32.u32.min %r9, %r1, %r2, %r3;", 3, 4, ~0u, 7},
      {"vset.s32.u32.lt %r9, %r1, %r2;", minus(1), 0, 0, 1},
      {"vset.u32.u32.lt %r9, %r1, %r2;", minus(1), 0, 0, 0},
      {"vset.u32.u32.ge.add %r9, %r1.b1, %r2.b0, %r3;", 0x0500, 5, 41, 42},
      {"vset.s32.s32.eq.max %r9, %r1, %r2, %r3;", 5, 5, ~0u, ~0u},
      {"vset.u32.u32.ne %r9.h1, %r1, %r2.b0, %r3;", 1, 2, 0xAABBCCDD, 0x0001CCDD},
  };
  for (const Case& k : cases) check(k);
}

TEST_CASE("video shifts clamp or wrap their count") {
  const Case cases[] = {
      {"vshl.u32.u32.u32.clamp %r9, %r1, %r2;", 1, 33, 0, 0},
      {"vshl.u32.u32.u32.wrap %r9, %r1, %r2;", 1, 33, 0, 2},
      {"vshl.u32.u32.u32.sat.clamp %r9, %r1, %r2;", 1, 99, 0, ~0u},
      {"vshl.s32.s32.u32.sat.clamp %r9, %r1, %r2.b1;", minus(3), 0x1E00, 0, 0x80000000},
      {"vshr.s32.s32.u32.clamp %r9, %r1, %r2;", minus(8), 40, 0, ~0u},
      {"vshr.s32.u32.u32.clamp %r9, %r1, %r2;", minus(8), 40, 0, 0},
      {"vshr.u32.u32.u32.wrap.add %r9, %r1, %r2, %r3;", 8, 33, 100, 104},
  };
  for (const Case& k : cases) check(k);
}

TEST_CASE("vmad negates, scales and saturates what it has summed exactly") {
  const Case cases[] = {
      {"vmad.u32.u32.u32 %r9, %r1, %r2, %r3;", ~0u, ~0u, 1, 2},
      {"vmad.u32.u32.u32.sat %r9, %r1, %r2, %r3;", ~0u, ~0u, 1, ~0u},
      {"vmad.u32.u32.u32.shr15 %r9, %r1, %r2, %r3;", 0x10000, 0x10000, 0x8000, 0x20001},
      {"vmad.u32.u32.u32.po.shr7 %r9, %r1, %r2, %r3;", 100, 3, 83, 3},
      {"vmad.s32.s32.s32 %r9, -%r1, %r2, %r3;", 3, 4, 20, 8},
      {"vmad.s32.s32.s32 %r9, -%r1, -%r2, %r3;", 3, 4, 20, 32},
      {"vmad.s32.u32.u32 %r9, %r1, %r2, -%r3;", 3, 4, 20, minus(8)},
      {"vmad.s32.s32.s32.sat %r9, %r1, %r2, %r3;", 0x7FFFFFFF, 2, 5, 0x7FFFFFFF},
      {"vmad.s32.s32.s32.sat %r9, -%r1, %r2, %r3;", 0x7FFFFFFF, 3, 5, 0x80000000},
      {"vmad.s32.s32.u32.sat.shr7 %r9, %r1.h0, %r2.b2, %r3;", 0x8000, 0x00FF0000, 0, minus(65280)},
  };
  for (const Case& k : cases) check(k);
}

TEST_CASE("SIMD video instructions work on four bytes or two half-words, or add them up") {
  check_simd<std::uint8_t>("4", ".u32.u32.u32");
  check_simd<std::int8_t>("4", ".s32.s32.s32");
  check_simd<std::uint16_t>("2", ".u32.u32.u32");
  check_simd<std::int16_t>("2", ".s32.s32.s32");
}

TEST_CASE(
    "SIMD video instructions choose their elements, saturate them, and keep those of c that the mask leaves out") {
  const Case cases[] = {
      {"vadd4.u32.u32.u32.sat %r9, %r1, %r2, %r3;", 0xF0010203, 0x20040506, 0, 0xFF050709},
      {"vsub4.s32.s32.s32.sat %r9, %r1, %r2, %r3;", 0x80000001, 0x01000002, 0, 0x800000FF},
      {"vsub4.u32.u32.u32.sat %r9, %r1, %r2, %r3;", 0x80000001, 0x01000002, 0, 0x7F000000},
      {"vadd4.u32.u32.u32 %r9, %r1.b7000, %r2.b4321, %r3;", 0x04030201, 0x40302010, 0, 0x50050403},
      {"vadd4.u32.u32.u32 %r9.b20, %r1, %r2, %r3;", 0x04030201, 0x40302010, 0xAABBCCDD, 0xAA33CC11},
      {"vadd2.s32.s32.s32 %r9.h1, %r1.h23, %r2.h01, %r3;", 0x00040003, 0x00200010, 0xAABBCCDD, 0x0013CCDD},
      {"vadd2.s32.s32.s32.sat %r9, %r1, %r2, %r3;", 0x7FFF8000, 0x0001FFFF, 0, 0x7FFF8000},
      {"vset4.s32.s32.lt %r9.b0, %r1, %r2, %r3;", 1, 2, 0xAABBCCDD, 0xAABBCC01},
      {"vset4.u32.u32.gt %r9, %r1, %r2, %r3;", 0xFF020304, 0x01020403, 0, 0x01000001},
      {"vset4.s32.s32.gt %r9, %r1, %r2, %r3;", 0xFF020304, 0x01020403, 0, 0x00000001},
      {"vset2.u32.u32.le.add %r9, %r1, %r2, %r3;", 0x00010002, 0x00010001, 40, 41},
      {"vset2.s32.s32.ne.add %r9.h1, %r1, %r2, %r3;", 0x00010002, 0x00010001, 40, 40},
  };
  for (const Case& k : cases) check(k);
}

}  // namespace sim_video
