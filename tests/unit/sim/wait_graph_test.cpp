// What a deadlock says about the waits between threads.
#include <doctest/doctest.h>

#include "tests/unit/sim/run.hpp"

namespace sim_wait_graph {

using namespace kiln;
using namespace kiln::test;
using sim::Outcome;

namespace {

// Two warps and two mbarriers of one arrival each; %r5 and %r6 their addresses, %p1: warp 1, one lane each.
std::string two_warps(const std::string& body) {
  return kernel(R"(
    .shared .align 8 .b64 full; .shared .align 8 .b64 empty;
    mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 31; mov.u32 %r5, full; mov.u32 %r6, empty;
    setp.ne.u32 %p2, %r1, 0; @%p2 exit;
    setp.eq.u32 %p1, %r0, 32; @%p1 bra MEET;
    mbarrier.init.shared.b64 [%r5], 1; mbarrier.init.shared.b64 [%r6], 1;
  MEET: barrier.sync 0;
    @%p1 bra role_mma;
)" + body);
}

}  // namespace

TEST_CASE("a circle of waits is named with its roles and barriers") {
  const Run r = run_kernel(two_warps(R"(
  role_load:
  W0: mbarrier.try_wait.parity.shared.b64 %p3, [%r6], 0; @!%p3 bra W0;
    mbarrier.arrive.shared.b64 _, [%r5]; bra DONE;
  role_mma:
  W1: mbarrier.try_wait.parity.shared.b64 %p3, [%r5], 0; @!%p3 bra W1;
    mbarrier.arrive.shared.b64 _, [%r6];
  DONE:)"),
                           64);
  CHECK(r.result.outcome == Outcome::deadlock);
  CHECK_MESSAGE(
      r.has("role `mma`, warp 1, lane 0 of CTA (0, 0, 0) could still arrive on mbarrier `empty` here, but waits "
            "for mbarrier `full`"),
      r.findings());
  CHECK_MESSAGE(
      r.has("they wait in a circle: role `load`, warp 0, lane 0 of CTA (0, 0, 0) waits for mbarrier `empty` from "
            "role `mma`, warp 1, lane 0 of CTA (0, 0, 0), which waits for mbarrier `full` from role `load`, warp "
            "0, lane 0 of CTA (0, 0, 0)"),
      r.findings());
}

TEST_CASE("the last arrival is named, and that no thread is left to arrive") {
  const Run r = run_kernel(two_warps(R"(
  role_load:
    mbarrier.arrive.shared.b64 _, [%r5]; bra DONE;
  role_mma:
  W1: mbarrier.try_wait.parity.shared.b64 %p3, [%r5], 0; @!%p3 bra W1;
  W2: mbarrier.try_wait.parity.shared.b64 %p3, [%r5], 1; @!%p3 bra W2;
  DONE:)"),
                           64);
  CHECK(r.result.outcome == Outcome::deadlock);
  CHECK_MESSAGE(
      r.has("the last to arrive on mbarrier `full` was role `load`, warp 0, lane 0 of CTA (0, 0, 0), in phase 0"),
      r.findings());
  CHECK_MESSAGE(r.has("no thread that is left has an arrival on mbarrier `full` ahead"), r.findings());
  CHECK(!r.has("circle"));
}

TEST_CASE("a barrier is waited for by the thread that would have signalled the mbarrier") {
  const Run r = run_kernel(two_warps(R"(
  role_load:
    barrier.sync 1, 64; mbarrier.arrive.shared.b64 _, [%r5]; bra DONE;
  role_mma:
  W1: mbarrier.try_wait.parity.shared.b64 %p3, [%r5], 0; @!%p3 bra W1;
    barrier.sync 1, 64;
  DONE:)"),
                           64);
  CHECK(r.result.outcome == Outcome::deadlock);
  CHECK_MESSAGE(r.has("could still arrive on mbarrier `full` here, but waits for barrier 1"), r.findings());
  CHECK_MESSAGE(r.has("they wait in a circle: "), r.findings());
}

TEST_CASE("the wait that nothing can end is the error; those that follow from it are one short note each") {
  const Run r = run_kernel(kernel(R"(
    .shared .align 8 .b64 full; .shared .align 8 .b64 done;
    mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 31; mov.u32 %r5, full; mov.u32 %r6, done;
    setp.ne.u32 %p2, %r1, 0; @%p2 exit;
    setp.ne.u32 %p1, %r0, 0; @%p1 bra MEET;
    mbarrier.init.shared.b64 [%r5], 1; mbarrier.init.shared.b64 [%r6], 1;
  MEET: barrier.sync 0;
    setp.eq.u32 %p1, %r0, 96; @%p1 bra role_mma;
    setp.eq.u32 %p1, %r0, 128; @%p1 exit;
  role_store:
  W0: mbarrier.try_wait.parity.shared.b64 %p3, [%r6], 0; @!%p3 bra W0;
    exit;
  role_mma:
  W1: mbarrier.try_wait.parity.shared.b64 %p3, [%r5], 0; @!%p3 bra W1;
    mbarrier.arrive.shared.b64 _, [%r6];
    exit;)"),
                           160);
  CHECK(r.result.outcome == Outcome::deadlock);
  REQUIRE(r.sink.all().size() == 1);
  const diag::Diagnostic& d = r.sink.all()[0];
  const std::string_view line = d.where.source->line(d.where.source->position(d.where.place.begin).line);
  CHECK_MESSAGE(line.find("W1:") != std::string_view::npos, r.findings());
  REQUIRE_MESSAGE(d.notes.size() == 3, r.findings());
  CHECK(d.notes[0].message ==
        "role `mma`, warp 3, lane 0 of CTA (0, 0, 0) waits for mbarrier `full`, phase 0 (parity 0): 1 of 1 arrivals "
        "pending");
  CHECK(d.notes[1].message == "no thread that is left has an arrival on mbarrier `full` ahead");
  CHECK(d.notes[2].message ==
        "role `store`, warp 0, lane 0 of CTA (0, 0, 0) and 2 more wait for mbarrier `done`, phase 0 (parity 0): 1 of 1 "
        "arrivals pending; role `mma`, warp 3, lane 0 of CTA (0, 0, 0) could still arrive");
}

TEST_CASE("lanes that wait for the others of their warp follow from what these wait for") {
  const Run r = run_kernel(kernel(R"(
    .shared .align 8 .b64 full;
    mov.u32 %r0, %tid.x; mov.u32 %r5, full;
    setp.ne.u32 %p1, %r0, 0; @%p1 bra ALL;
    mbarrier.init.shared.b64 [%r5], 1;
  W1: mbarrier.try_wait.parity.shared.b64 %p3, [%r5], 0; @!%p3 bra W1;
  ALL: bar.warp.sync 0xffffffff;)"),
                           32);
  CHECK(r.result.outcome == Outcome::deadlock);
  REQUIRE(!r.sink.all().empty());
  CHECK_MESSAGE(r.sink.all()[0].notes[0].message.find("waits for mbarrier `full`") != std::string::npos, r.findings());
  CHECK_MESSAGE(r.sink.all()[0].notes.back().message.find("waits for lane 0 of its warp") != std::string::npos,
                r.findings());
}

}  // namespace sim_wait_graph
