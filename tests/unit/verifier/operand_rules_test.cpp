// Rules about numbers that only a run has, and exploring.
#include <doctest/doctest.h>

#include "tests/unit/verifier/explored.hpp"

namespace verifier_operand_rules {

using namespace kiln;
using namespace kiln::test;

namespace {

// Two warps, each of which stores and loads its quarter of an allocation. What the addresses are made of are words of
// shared memory, which no rule of a single instruction knows.
const std::string quarters = preamble + R"(
.visible .entry quarters(.param .u64 D) .reqntid 64
{
  .reg .pred %p;
  .reg .b32 %t, %warp, %lane, %tm, %at, %v, %number, %word;
  .reg .b64 %D;
  .shared .align 4 .b32 slot;
  .shared .align 4 .b32 words[64];
  ld.param.u64 %D, [D];
  mov.u32 %t, %tid.x;
  and.b32 %lane, %t, 31;
  shr.u32 %warp, %t, 5;
  setp.ne.u32 %p, %warp, 0;
  @%p bra ALLOCATED;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
ALLOCATED:
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %tm, [slot];
  shl.b32 %at, %warp, 21;
  add.u32 %at, %at, %tm;
  mov.u32 %v, 0;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%at], {%v};
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync;
  mov.u32 %number, 64;
  bar.sync 1, %number;
  mov.u32 %word, words;
  mad.lo.u32 %word, %t, 4, %word;
  st.shared.u32 [%word], %t;
  @%p bra DONE;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, 32;
DONE:
  ret;
}
)";

std::string with(const std::string& from, const std::string& to) { return explored(replaced(quarters, from, to)); }

const std::string store = "  mov.u32 %v, 0;\n";

}  // namespace

TEST_CASE("each warp in its quarter, all columns allocated, all counts alike: nothing to say") {
  CHECK(explored(quarters) == "");
}

TEST_CASE("tcgen05-ld-quarter, tcgen05-ld-lane: the lane that an address comes to") {
  CHECK(with("shl.b32 %at, %warp, 21", "shl.b32 %at, %warp, 22") == "tcgen05-ld-quarter ");
  CHECK(with("shl.b32 %at, %warp, 21", "shl.b32 %at, %warp, 20").starts_with("tcgen05-ld-lane "));
}

TEST_CASE("tcgen05-tmem-range: columns after the allocation, and before it") {
  CHECK(with(store, store + "  add.u32 %at, %at, 31;\n") == "");
  CHECK(with(store, store + "  add.u32 %at, %at, 32;\n") == "tcgen05-tmem-range ");
  CHECK(with("32x32b.x1.b32 [%at], {%v}", "32x32b.x2.b32 [%at+31], {%v, %v}") == "tcgen05-tmem-range ");
}

TEST_CASE("warp-uniform: each lane with an address of its own") {
  CHECK(with(store, store + "  add.u32 %at, %at, %lane;\n") == "warp-uniform ");
  CHECK(with(store, store + "  add.u32 %at, %at, %warp;\n") == "");
}

TEST_CASE("tcgen05-dealloc-size, tcgen05-alloc-leak: what a CTA frees, and what it leaves") {
  const std::string dealloc = "  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, 32;\n";
  CHECK(with(dealloc, "  add.u32 %tm, %tm, 32;\n" + dealloc) == "tcgen05-alloc-leak tcgen05-dealloc-size ");
  CHECK(with(dealloc, "") == "tcgen05-alloc-leak ");
  // A thread that traps owes nothing.
  CHECK(with(dealloc, "  st.shared.u32 [%word], %t;\n  trap;\n") == "");
}

TEST_CASE("barrier-count, barrier-number, barrier-mismatch: numbers of a named barrier that are computed") {
  const std::string number = "mov.u32 %number, 64;\n";
  CHECK(with(number, "add.u32 %number, %warp, 64;\n").find("barrier-count ") != std::string::npos);
  CHECK(with(number, "shl.b32 %number, %warp, 5;\n  add.u32 %number, %number, 64;\n").find("barrier-mismatch ") !=
        std::string::npos);
  CHECK(with("bar.sync 1, %number", "bar.sync %number, 64").find("barrier-number ") != std::string::npos);
}

TEST_CASE("barrier-mismatch: a thread arrives again without knowing that the last use is over") {
  const std::string barrier = "  bar.sync 1, %number;\n";
  CHECK(with(barrier, barrier + barrier) == "");
  // The first warp arrives for the next use, and need not be the last to arrive for this one.
  const std::string arrive = "  @!%p bar.arrive 2, 64;\n  @%p bar.sync 2, 64;\n";
  CHECK(with(barrier, barrier + arrive) == "");
  CHECK(with(barrier, barrier + arrive + barrier + arrive) == "");
  CHECK(with(barrier, barrier + arrive + "  @!%p bar.sync 2, 64;\n  @%p bar.arrive 2, 64;\n")
            .starts_with("barrier-mismatch "));
}

TEST_CASE("mbarrier-overwritten: an mbarrier is initialised where one lives") {
  const std::string init = "  @!%p mbarrier.init.shared::cta.b64 [bar], 1;\n";
  const std::string twice = replaced(quarters, "  .shared .align 4 .b32 slot;\n",
                                     "  .shared .align 4 .b32 slot;\n  .shared .align 8 .b64 bar;\n");
  const auto begun = [&](const std::string& text) {
    return explored(replaced(twice, "  setp.ne.u32 %p, %warp, 0;\n",
                             "  setp.ne.u32 %p, %t, 0;\n" + text + "  setp.ne.u32 %p, %warp, 0;\n"));
  };
  CHECK(begun(init) == "");
  CHECK(begun(init + init) == "mbarrier-overwritten ");
  CHECK(begun(init + "  @!%p mbarrier.inval.shared::cta.b64 [bar];\n" + init) == "");
}

TEST_CASE("memory-bounds: shared memory ends where its variables do, and a launch adds to it") {
  CHECK(with("mad.lo.u32 %word, %t, 4, %word", "mad.lo.u32 %word, %t, 8, %word") == "memory-bounds ");
  launch::Contract c;
  launch::Launch l;
  l.grid = {1, 1, 1}, l.block = {64, 1, 1}, l.params = {{launch::ScalarParam{isa::ScalarType::u64, 0}}};
  l.dynamic_smem = 256;
  c.launches = {l};
  std::string dynamic = replaced(quarters, "  .shared .align 4 .b32 words[64];\n", "");
  dynamic = replaced(dynamic, ".visible", ".extern .shared .align 4 .b8 words[];\n.visible");
  CHECK(explored(dynamic) == "");
  CHECK(explored(dynamic, &c) == "");
  c.launches[0].dynamic_smem = 252;
  CHECK(explored(dynamic, &c) == "memory-bounds ");
}

}  // namespace verifier_operand_rules
