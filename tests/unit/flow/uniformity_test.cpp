#include "tests/unit/flow/analysed.hpp"

using kiln::test::Analysed;
using namespace kiln;
using flow::Who;

TEST_CASE("a branch on the warp index selects the warp however it is spelled") {
  for (const char* warp : {"shr.u32 %r2, %r1, 5;", "div.u32 %r2, %r1, 32;", "bfe.u32 %r2, %r1, 5, 3;",
                           "shr.u32 %r9, %r1, 5; shfl.sync.idx.b32 %r2|%p9, %r9, 0, 31, -1;",
                           "and.b32 %r9, %r1, 0x3E0; shr.s32 %r2, %r9, 5;"}) {
    const Analysed k(std::string("mov.u32 %r1, %tid.x; ") + warp +
                         " setp.ne.s32 %p1, %r2, 4; @%p1 bra OTHER; FOUR: mov.u32 %r3, 0; "
                         "OTHER: ret;",
                     ".reqntid 192");
    CHECK_MESSAGE(k.uniformity.warps_at(k.at("FOUR")) == 0x10, warp);
    CHECK(k.uniformity.who(k.at("FOUR")) == Who::one_warp);
    CHECK(k.uniformity.warps_at(k.at("OTHER")) == 0x3F);
    CHECK(k.uniformity.who(k.at("OTHER")) == Who::whole);
    CHECK(k.uniformity.is_exact(k.at("FOUR")));
  }
}

TEST_CASE("a number that hangs on the thread alone is known in each thread") {
  const Analysed k(R"(mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5; setp.gt.u32 %p1, %r2, 0; selp.b32 %r3, 7, 3, %p1;
    L: add.u32 %r4, %r3, %r2; ld.param.u32 %r5, [n]; M: add.u32 %r6, %r5, %r2; ret;)",
                   ".reqntid 64");
  const auto sum = k.uniformity.by_thread(k.code.operations[k.at("L")].arguments[0], 32);
  REQUIRE(sum);
  CHECK(sum->at(0) == 3);
  CHECK(sum->at(63) == 8);
  CHECK_FALSE(k.uniformity.by_thread(k.code.operations[k.at("M")].arguments[0], 32));
}

TEST_CASE("ranges, conjunctions and guards") {
  const Analysed k(R"(mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 128; @!%p1 bra HIGH; LOW: setp.ge.u32 %p2, %r1, 64;
    setp.lt.and.u32 %p3, %r1, 96, %p2; G: @%p3 mov.u32 %r2, 0; bra END; HIGH: mov.u32 %r3, 0; END: ret;)",
                   ".maxntid 256");
  CHECK(k.uniformity.warps_at(k.at("LOW")) == 0x0F);
  CHECK(k.uniformity.warps_at(k.at("HIGH")) == 0xF0);
  CHECK(k.uniformity.warps_at(k.at("G")) == 0x04);
  CHECK(k.uniformity.who(k.at("LOW")) == Who::several);
}

TEST_CASE("elect.sync selects one thread, also through the number that inline assembly leaves") {
  const Analysed k(R"(mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 31; @%p1 bra END;
    mov.u32 %r2, 0; elect.sync _|%p2, -1; @%p2 mov.u32 %r2, 1; setp.eq.u32 %p3, %r2, 0; @%p3 bra END;
    ONE: mov.u32 %r3, 0; L: @%p9 bra L; STILL: mov.u32 %r4, 0; END: ret;)",
                   ".reqntid 128");
  CHECK(k.uniformity.who(k.at("ONE")) == Who::one_thread);
  CHECK(k.uniformity.who(k.at("STILL")) == Who::one_thread);
  const Analysed direct("elect.sync %r1|%p1, -1; @!%p1 bra END; ONE: mov.u32 %r3, 0; END: ret;", ".reqntid 128");
  CHECK(direct.uniformity.who(direct.at("ONE")) == Who::one_per_warp);
  CHECK(direct.uniformity.who(direct.at("END")) == Who::whole);
}

TEST_CASE("thread zero is one thread, and an empty set is no thread") {
  const Analysed k(R"(mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra END; ZERO: setp.eq.u32 %p2, %r1, 1;
    NEVER: @%p2 mov.u32 %r2, 0; END: ret;)");
  CHECK(k.uniformity.who(k.at("ZERO")) == Who::one_thread);
  CHECK(k.uniformity.who(k.at("NEVER")) == Who::nobody);
}

TEST_CASE("other conditions may select any thread, and those that differ between threads leave the set inexact") {
  const Analysed k(R"(ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0; @%p1 bra B; A: mov.u32 %r2, 0;
    B: ld.global.u32 %r3, [%rd1]; setp.eq.u32 %p2, %r3, 0; @%p2 bra D; C: mov.u32 %r4, 0; D: ret;)",
                   ".reqntid 64");
  CHECK(k.uniformity.who(k.at("A")) == Who::whole);
  CHECK(k.uniformity.is_exact(k.at("A")));
  CHECK(k.uniformity.who(k.at("C")) == Who::whole);
  CHECK_FALSE(k.uniformity.is_exact(k.at("C")));
  CHECK(k.uniformity.is_exact(k.at("D")));
}

TEST_CASE("what differs between the threads of a warp is not taken for the same") {
  for (const char* value : {"mov.u32 %r1, %lanemask_lt;", "mov.u32 %r1, %clock;", "call (%r1), other, ();",
                            "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];"}) {
    const Analysed k(std::string(value) + " setp.eq.u32 %p1, %r1, 0; @!%p1 bra END; SOME: mov.u32 %r3, 0; END: ret;");
    CHECK_MESSAGE(!k.uniformity.is_exact(k.at("SOME")), value);
  }
}

TEST_CASE("a two-dimensional CTA counts its threads along x first") {
  const char* body =
      R"(mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mad.lo.u32 %r3, %r2, 16, %r1; setp.gt.u32 %p1, %r3, 31;
    @%p1 bra END; FIRST: mov.u32 %r4, 0; END: ret;)";
  const Analysed known(body, ".reqntid 16, 4");
  CHECK(known.uniformity.warps_at(known.at("FIRST")) == 1);
  const Analysed unknown(body);
  CHECK(unknown.uniformity.warps_at(unknown.at("FIRST")) == 0xFFFFFFFF);
}

TEST_CASE("predicates in a circle, and very long chains of them, are unknown") {
  std::string body = "mov.pred %p1, %p2; mov.pred %p2, %p1; and.pred %p3, %p1, %p2; @%p3 bra END; ";
  for (int i = 1; i < 30; ++i) body += "mov.u32 %r" + std::to_string(i) + ", %r" + std::to_string(i % 29 + 1) + ";";
  const Analysed k(body + "setp.ne.u32 %p5, %r1, 0; @%p5 bra END; A: mov.u32 %r39, 0; END: ret;", ".reqntid 32");
  CHECK(k.uniformity.who(k.at("A")) == Who::one_warp);
}
