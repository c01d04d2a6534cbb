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

}  // namespace sim_wait_graph
