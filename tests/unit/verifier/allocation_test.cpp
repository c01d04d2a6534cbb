#include "tests/unit/verifier/checked.hpp"

namespace verifier_allocation {

using namespace kiln;

namespace {

const std::string alloc = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 ";
const std::string dealloc = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 ";
const std::string relinquish = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; ";

std::string check(const std::string& body, const std::string& functions = {}) {
  return test::slugs(test::check_text(test::preamble + ".shared .align 4 .b32 slot, other;\n" + functions +
                                      ".visible .entry k(.param .u32 n, .param .u64 q) .reqntid 128 { .reg .b32 "
                                      "%r<20>; .reg .pred %p<9>; .reg .b32 %t;\n"
                                      "ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 1; "
                                      "mov.u32 %r2, %tid.x; setp.gt.u32 %p3, %r2, 31;\n" +
                                      body + " ret; }"));
}

}  // namespace

TEST_CASE("straight lines") {
  CHECK(check(alloc + "[slot], 64; " + relinquish + "ld.shared.b32 %t, [slot]; " + dealloc + "%t, 64;").empty());
  CHECK(check(alloc + "[slot], 64; " + alloc + "[other], 32; ld.shared.b32 %t, [slot]; " + dealloc + "%t, 64; " +
              dealloc + "%t, 32;")
            .empty());
  CHECK(check(alloc + "[slot], 64; " + alloc + "[other], 32; " + dealloc + "%t, 64; " + dealloc + "%t, 64;") ==
        "tcgen05-dealloc-size ");
  CHECK(check(alloc + "[slot], %r1; ld.shared.b32 %t, [slot]; " + dealloc + "%t, %r1;").empty());
  CHECK(check(alloc + "[slot], %r1; ld.shared.b32 %t, [slot]; " + dealloc + "%t, 64;").empty());
}

TEST_CASE("branches that agree with each other are no leak") {
  const std::string free = dealloc + "%t, 64; ";
  CHECK(check("@%p1 bra A; " + alloc + "[slot], 64; A: bar.sync 0; @%p1 bra B; " + free + "B:").empty());
  CHECK(check("@%p3 bra A; " + alloc + "[slot], 64; A: bar.sync 0; @%p3 bra B; " + free + "B:").empty());
  CHECK(check(alloc + "[slot], 64; @%p1 bra A; " + free + "A: @!%p1 bra B; " + free + "B:").empty());
  CHECK(check("@%p1 " + alloc + "[slot], 64; @!%p1 bra A; " + free + "A:").empty());
  CHECK(check(alloc + "[slot], 64; @%p1 bra A; " + free + "bra B; A: " + free + "B:").empty());
  CHECK(check(alloc + "[slot], 64; L: sub.u32 %r1, %r1, 1; @%p2 bra L; " + free).empty());
  CHECK(check(alloc + "[slot], 64; @%p1 trap; " + free).empty());
  CHECK(check(alloc + "[slot], 64; L: bra L;").empty());
}

TEST_CASE("a branch that every path meets, with a way out that frees nothing, is a leak") {
  const std::string free = dealloc + "%t, 64; ";
  CHECK(check(alloc + "[slot], 64; @%p1 ret; " + free) == "tcgen05-alloc-leak ");
  CHECK(check(alloc + "[slot], 64; @%p1 bra A; " + free + "A:") == "tcgen05-alloc-leak ");
  CHECK(check(alloc + "[slot], 64; @%p2 bra B; mov.u32 %r3, 0; B: @%p1 bra A; " + free + "A:") ==
        "tcgen05-alloc-leak ");
  CHECK(check("@%p3 bra A; " + alloc + "[slot], 64; @%p1 exit; A: bar.sync 0; @%p3 bra B; " + free + "B:") ==
        "tcgen05-alloc-leak ");
}

TEST_CASE("what other functions do to tensor memory is not guessed") {
  const std::string helper = ".func release() { .reg .b32 %t; " + dealloc + "%t, 64; ret; }\n";
  CHECK(check(alloc + "[slot], 64; call.uni release, ();", helper).empty());
  CHECK(check(alloc + "[slot], 64;", helper) == "tcgen05-alloc-leak ");
}

TEST_CASE("orders of alloc, relinquish and dealloc that are wrong on every path") {
  CHECK(check(relinquish + alloc + "[slot], 64; " + dealloc + "%t, 64;") == "tcgen05-alloc-relinquished ");
  CHECK(check("@%p1 bra A; " + relinquish + "A: " + alloc + "[slot], 64; " + dealloc + "%t, 64;").empty());
  CHECK(check(alloc + "[slot], 512; " + alloc + "[other], 512; " + dealloc + "%t, 512;") == "tcgen05-alloc-budget ");
  CHECK(check(dealloc + "%t, 64; " + alloc + "[slot], 64;") == "tcgen05-dealloc-size tcgen05-alloc-leak ");
}

TEST_CASE("columns of different slots belong to different allocations") {
  const std::string body = alloc + "[slot], 64; " + alloc +
                           "[other], 32; ld.shared.b32 %t, [slot]; ld.shared.b32 %r5, [other]; "
                           "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r6}, [%AT]; tcgen05.wait::ld.sync.aligned; add.u32 %r6, %r6, 1; " +
                           dealloc + "%t, 64; " + dealloc + "%r5, 32;";
  CHECK(check("@%p3 bra E; " + test::replaced(body, "%AT", "%t+63") + "E:").empty());
  CHECK(check("@%p3 bra E; " + test::replaced(body, "%AT", "%r5+63") + "E:") == "tcgen05-tmem-range ");
  CHECK(check("@%p3 bra E; " + test::replaced(body, "%AT", "%r5+-1") + "E:") == "tcgen05-tmem-range ");
}

TEST_CASE("a loaded register is pending until the wait, or until something else is written to it") {
  const auto load = [](const std::string& rest) {
    return check("@%p3 bra E; " + alloc +
                 "[slot], 64; ld.shared.b32 %t, [slot]; tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r6, %r7}, [%t]; " +
                 rest + " " + dealloc + "%t, 64; E:");
  };
  CHECK(load("tcgen05.wait::ld.sync.aligned; add.u32 %r8, %r6, %r7;").empty());
  CHECK(load("mov.u32 %r6, 0; add.u32 %r8, %r6, 1; tcgen05.wait::ld.sync.aligned;").empty());
  CHECK(load("@%p1 bra S; tcgen05.wait::ld.sync.aligned; S: add.u32 %r8, %r6, %r7;") == "tcgen05-ld-wait ");
  CHECK(load("st.shared.u32 [slot], %r7; tcgen05.wait::ld.sync.aligned;") == "tcgen05-ld-wait ");
}

}  // namespace verifier_allocation
