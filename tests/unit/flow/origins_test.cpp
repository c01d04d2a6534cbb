#include "tests/unit/flow/analysed.hpp"

using kiln::test::Analysed;
using namespace kiln;
using Base = flow::Origin::Base;

namespace {

std::string symbol(const Analysed& k, const std::string& name) {
  const flow::Origin o = k.origin(name);
  return o.is(Base::symbol) ? k.code.symbols[o.id].variable->name : "";
}

}  // namespace

TEST_CASE("an address keeps its variable through views, sums and other CTAs") {
  const Analysed k(R"(mov.u32 %r1, bars; add.u32 %r2, %r1, 16; sub.u32 %r3, %r2, 8; cvta.shared.u64 %rd1, bars;
    cvta.to.shared.u64 %rd2, %rd1; cvt.u32.u64 %r4, %rd2; mapa.shared::cluster.u32 %r5, %r2, 0;
    and.b32 %r6, %r2, 0xFEFFFFFF;
    or.b32 %r7, %r1, 4; add.u32 %r8, %r1, -8;)");
  for (const char* name : {"%r1", "%r2", "%r3", "%rd1", "%rd2", "%r4", "%r5", "%r6", "%r7", "%r8"})
    CHECK_MESSAGE(symbol(k, name) == "bars", name);
  CHECK(k.origin("%r2").offset() == 16);
  CHECK(k.origin("%r3").offset() == 8);
  CHECK(k.origin("%r5").offset() == 16);
  CHECK(k.origin("%r6").offset() == 16);
  CHECK(k.origin("%r7").offset() == 4);
  CHECK(k.origin("%r8").offset() == -8);
  CHECK(k.origin("%r8").exact());
}

TEST_CASE("an index makes the offset inexact and keeps what is known of it") {
  const Analysed k(R"(mov.u32 %r1, bars; ld.param.u32 %r2, [n]; mad.lo.u32 %r3, %r2, 8, %r1; shl.b32 %r4, %r2, 4;
    add.u32 %r5, %r1, %r4; lop3.b32 %r6, %r1, %r2, 7, 0xEA;)");
  CHECK(symbol(k, "%r3") == "bars");
  CHECK_FALSE(k.origin("%r3").exact());
  CHECK((k.origin("%r3").added.zero & 15) == 7);
  CHECK((k.origin("%r5").added.zero & 15) == 15);
  CHECK(symbol(k, "%r6") == "bars");
}

TEST_CASE("two variables, or a variable and a number, have no common base") {
  const Analysed k(
      "mov.u32 %r1, bars; mov.u32 %r1, tile; mov.u32 %r2, bars; mov.u32 %r2, 5; selp.u32 %r3, %r9, %r9, %p1;");
  CHECK(k.origin("%r1").is(Base::unknown));
  CHECK(k.origin("%r2").is(Base::unknown));
  CHECK(k.origin("%r3").is(Base::unknown));
}

TEST_CASE("a word of shared memory is a base of its own") {
  const Analysed k(
      R"(mov.u32 %r1, slot; ld.shared.u32 %r2, [%r1]; ld.shared.u32 %r3, [slot]; add.u32 %r4, %r3, 0x200040;
    ld.shared.v2.u32 {%r5, %r6}, [tile+8]; ld.param.u32 %r7, [n]; shl.b32 %r8, %r7, 21; add.u32 %r9, %r4, %r8;)");
  CHECK(k.origin("%r2") == k.origin("%r3"));
  CHECK(k.origin("%r2").is(Base::slot));
  CHECK(k.origin("%r4").offset() == 0x200040);
  CHECK(k.origins.slots[k.origin("%r6").id].offset == 12);
  CHECK(k.origin("%r9").added.knows(0xFFFF));
  CHECK((k.origin("%r9").added.one & 0xFFFF) == 0x40);
}

TEST_CASE("a pointer that a loop advances keeps its base") {
  const Analysed k("mov.u32 %r1, tile; L: add.u32 %r1, %r1, 32; @%p1 bra L; ret;");
  CHECK(symbol(k, "%r1") == "tile");
  CHECK((k.origin("%r1").added.zero & 31) == 31);
}
