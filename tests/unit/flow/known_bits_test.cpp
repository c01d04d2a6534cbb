#include "tests/unit/flow/analysed.hpp"

using kiln::test::Analysed;
using namespace kiln;

TEST_CASE("a descriptor's fields are known whether its address was extended by zeros or by its sign") {
  for (const std::string extend : {"cvt.u64.u32 %rd1, %r1;", "cvt.s64.s32 %rd1, %r1;",
                                   "cvta.shared.u64 %rd4, %rd5; cvta.to.shared.u64 %rd1, %rd4;"}) {
    const Analysed a("mov.u32 %r1, tile; mov.u64 %rd5, tile;" + extend +
                     "shr.u64 %rd2, %rd1, 4; or.b64 %rd3, %rd2, 0x4000004000010000; ret;");
    CHECK(a.bits("%rd3").knows(~std::uint64_t{0} << 24));
    CHECK(a.bits("%rd3").one == 0x4000004000010000);
  }
  // A word out of memory may have a sign.
  const Analysed other("ld.param.u32 %r1, [n]; cvt.s64.s32 %rd1, %r1; shr.u64 %rd2, %rd1, 4; ret;");
  CHECK_FALSE(other.bits("%rd2").knows(std::uint64_t{1} << 40));
}

TEST_CASE("constants travel through arithmetic") {
  const Analysed k(R"(mov.u32 %r1, 12; shl.b32 %r2, %r1, 2; add.s32 %r3, %r2, -1; mad.lo.s32 %r4, %r3, 2, 1;
    mul.wide.s32 %rd1, %r3, -2; cvt.s64.s32 %rd2, -5; cvt.u64.u32 %rd3, %r3; sub.s64 %rd4, %rd3, 50;
    lop3.b32 %r5, 0xF0, 0xCC, 0xAA, 0x96; bfe.u32 %r6, 0xABCD, 4, 8; bfi.b32 %r7, 0xF, 0, 8, 4;
    shf.l.wrap.b32 %r9, 0x80000000, 1, 1; not.b32 %r10, 0;
    div.u32 %r11, 100, 7; rem.u32 %r12, 100, 8; shr.s32 %r13, -8, 1; mul.hi.u32 %r14, 0x80000000, 6;
    selp.u32 %r15, 7, 7, %p1;
    xor.b32 %r16, %r1, 1; neg.s32 %r17, 5; mov.b64 %rd5, {%r1, %r2}; mov.b64 {%r18, %r19}, %rd5;)");
  const auto is = [&](const char* name, std::uint64_t v) { CHECK_MESSAGE(k.bits(name).value() == v, name); };
  is("%r2", 48), is("%r3", 47), is("%r4", 95), is("%rd1", std::uint64_t(-94)), is("%rd2", std::uint64_t(-5));
  is("%rd3", 47), is("%rd4", std::uint64_t(-3)), is("%r5", 0xF0 ^ 0xCC ^ 0xAA), is("%r6", 0xBC), is("%r7", 0xF00);
  is("%r9", 3), is("%r10", 0xFFFFFFFF), is("%r11", 14), is("%r12", 4), is("%r13", 0xFFFFFFFC), is("%r14", 3);
  is("%r15", 7), is("%r16", 13), is("%r17", 0xFFFFFFFB), is("%rd5", 48ull << 32 | 12), is("%r18", 12), is("%r19", 48);
}

TEST_CASE("a comparison is known of numbers, and of bits that differ") {
  const Analysed k(R"(setp.ne.b32 %p1, 1, 0; setp.lt.s32 %p2, -1, 0; setp.lt.u32 %p3, -1, 0; mov.u32 %r1, %tid.x;
    or.b32 %r2, %r1, 4; and.b32 %r3, %r1, 3; setp.eq.u32 %p4, %r2, %r3; setp.ge.u32 %p5, %r1, 0;
    setp.ne.and.u32 %p6, 1, 1, %p5; setp.eq.or.u32 %p7, 1, 1, %p5; setp.eq.u32 %p8, %r1, 3;)");
  const auto is = [&](const char* name, std::uint64_t v) { CHECK_MESSAGE(k.bits(name).value() == v, name); };
  is("%p1", 1), is("%p2", 1), is("%p3", 0), is("%p4", 0), is("%p6", 0), is("%p7", 1);
  CHECK_FALSE(k.bits("%p5").value());
  CHECK_FALSE(k.bits("%p8").value());
}

TEST_CASE("a vector has its elements' numbers, or the parts of one") {
  const Analysed k(R"(mov.v2.u32 {%r1, %r2}, {7, %r9}; mov.v2.u32 {%r3, %r13}, {%r1, 9}; mov.v2.u32 {%r4, %r5}, 0x30005;
    mov.v4.u32 {_, %r6, _, %r7}, {1, 2, %r9, 4}; mov.v4.u32 {%r8, %r10, %r11, %r12}, %tid;)");
  const auto is = [&](const char* name, std::uint64_t v) { CHECK_MESSAGE(k.bits(name).value() == v, name); };
  is("%r3", 7), is("%r4", 5), is("%r5", 3), is("%r6", 2), is("%r7", 4);
  CHECK_FALSE(k.bits("%r10").value());
}

TEST_CASE("a shuffle keeps the bits that all lanes have in common") {
  const Analysed k(R"(mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 3; or.b32 %r3, %r2, 0x4000000;
    shfl.sync.idx.b32 %r4, %r3, 0, 31, -1; shfl.sync.bfly.b32 %r5|%p1, %r3, 1, 31, -1;
    shfl.sync.idx.b32 _|%p2, %r3, 0, 31, -1; mov.u32 %r6, 9; shfl.sync.up.b32 %r7, %r6, %r1, 0, -1;)");
  for (const char* name : {"%r4", "%r5"}) {
    CHECK(k.bits(name).one == 0x4000000);
    CHECK(k.bits(name).largest() == 0x4000003);
  }
  CHECK(k.bits("%r7").value() == 9);
  for (const char* name : {"%p1", "%p2"}) CHECK_FALSE(k.bits(name).knows(1));
}

TEST_CASE("prmt picks bytes of both operands") {
  const Analysed k("prmt.b32 %r1, 0x11223344, 0x55667788, 0x7610;");
  CHECK(k.bits("%r1").value() == 0x55663344);
}

TEST_CASE("addresses of shared variables have the zeros of their alignment") {
  const Analysed k(R"(mov.u32 %r1, tile; add.u32 %r2, %r1, 64; cvta.shared.u64 %rd1, tile; mov.u64 %rd2, tile;
    mov.u32 %r3, bars; shr.u32 %r4, %r1, 4; and.b32 %r5, %r4, 0x3FFF;)");
  CHECK(k.bits("%r1").trailing_zeros() == 7);
  CHECK((k.bits("%r2").one & 64) == 64);
  CHECK(k.bits("%rd1").trailing_zeros() == 7);
  CHECK((k.bits("%rd1").zero >> 32) == 0);
  CHECK(k.bits("%r3").trailing_zeros() == 3);
  CHECK((k.bits("%r5").zero & 7) == 7);
}

TEST_CASE("a register that a loop changes keeps the bits that the loop does not") {
  const Analysed k("mov.u32 %r1, 8; L: add.u32 %r1, %r1, 16; mov.u32 %r2, 4; @%p1 bra L; ret;");
  CHECK((k.bits("%r1").zero & 15) == 7);
  CHECK((k.bits("%r1").one & 15) == 8);
  CHECK_FALSE(k.bits("%r1").is_constant());
  CHECK(k.bits("%r2").value() == 4);
}

TEST_CASE("what is loaded, unknown or never written is unknown within its width") {
  const Analysed k(
      "ld.param.u32 %r1, [n]; ld.global.u8 %r2, [%rd9]; add.u32 %r3, %r4, 0; ld.global.s8 %r5, [%rd9]; cvt.rn.f32.u32 "
      "%r6, %r1;");
  CHECK(k.bits("%r1") == flow::Bits::unknown(32));
  CHECK(k.bits("%r2") == flow::Bits::unknown(8));
  CHECK(k.bits("%r3") == flow::Bits::unknown(32));
  CHECK(k.bits("%r5") == flow::Bits::unknown(32));
  CHECK(k.bits("%r6") == flow::Bits::unknown(32));
}

TEST_CASE("thread indices are as small as the launch directives say") {
  const Analysed bounded("mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.y;", ".reqntid 192");
  CHECK(bounded.bits("%r1") == flow::Bits::unknown(8));
  CHECK(bounded.bits("%r2").value() == 192);
  CHECK(bounded.bits("%r3").value() == 0);
  const Analysed free("mov.u32 %r1, %tid.x;");
  CHECK(free.bits("%r1") == flow::Bits::unknown(10));
}

TEST_CASE("a choice is known where its predicate is") {
  const Analysed k(
      "setp.ne.u32 %p1, 1, 0; selp.b32 %r1, 3, 4, %p1; not.pred %p2, %p1; selp.b32 %r2, 3, 4, %p2; "
      "mov.u32 %r3, %tid.x; setp.eq.u32 %p3, %r3, 9; selp.b32 %r4, 3, 7, %p3;");
  CHECK(k.bits("%r1").value() == 3);
  CHECK(k.bits("%r2").value() == 4);
  CHECK_FALSE(k.bits("%r4").value());
  CHECK((k.bits("%r4").one & 7) == 3);
}

TEST_CASE("parameters that are given are known when they are loaded, byte by byte") {
  const Analysed k(R"(ld.param.u64 %rd1, [a]; ld.param.v2.b8 {%h1, %h2}, [a+1]; ld.param.v2.b16 {_, %h3}, [a];
    ld.param.s8 %r1, [a+2]; ld.param.u32 %r2, [n]; mov.u32 %r3, 4; ld.param.u32 %r4, [a+4];
    mov.u64 %rd2, a; ld.param.u32 %r5, [%rd2]; ld.shared.u32 %r6, [slot];)");
  const flow::KnownBits known(k.code, k.definitions, {{{0, 0x11}, {1, 0x22}, {2, 0x83}, {3, 0x44}, {4, 0x55}}});
  const auto bits = [&](const char* name) { return known.of(k.reg(name)); };
  CHECK(bits("%h1").value() == 0x22);
  CHECK(bits("%h2").value() == 0x83);
  CHECK(bits("%h3").value() == 0x4483);
  CHECK(bits("%r1").value() == 0xFFFFFF83);
  CHECK_FALSE(bits("%rd1").value());
  CHECK((bits("%rd1").knows(0xFF'FFFF'FFFF) && (bits("%rd1").one & 0xFF'FFFF'FFFF) == 0x55'4483'2211));
  for (const char* open : {"%r2", "%r4", "%r5", "%r6"}) CHECK_FALSE(bits(open).value());
  CHECK_FALSE(k.bits("%h1").value());
}
