// Threads of a warp that part and meet again.
#include <doctest/doctest.h>

#include "tests/unit/sim/run.hpp"

namespace sim_divergence {

using namespace kiln;
using namespace kiln::test;
using u32 = std::uint32_t;

namespace {

// %r0: thread, %rd0: address of its own output word.
const std::string own = "mov.u32 %r0, %tid.x; mul.wide.u32 %rd0, %r0, 4; add.u64 %rd0, %rd0, %out;\n";

std::vector<u32> threads(const std::string& body, u32 n = 32, const std::string& declarations = "") {
  const Run r = run_kernel(kernel(own + body, declarations), n, n);
  CHECK_MESSAGE(r.clean(), r.findings());
  return r.read<u32>("out");
}

}  // namespace

TEST_CASE("a loop may run a different number of times in each lane") {
  const auto out = threads(R"(
    mov.u32 %r1, 0; mov.u32 %r2, 0;
  LOOP: setp.ge.u32 %p1, %r2, %r0; @%p1 bra DONE;
    add.u32 %r1, %r1, %r2; add.u32 %r2, %r2, 1; bra LOOP;
  DONE: st.global.u32 [%rd0], %r1;)");
  for (u32 t = 0; t < 32; ++t) CHECK(out[t] == t * (t - 1) / 2);
}

TEST_CASE("lanes that leave early do not disturb the others") {
  const auto out = threads(R"(
    and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 1; st.global.u32 [%rd0], 7; @%p1 exit;
    activemask.b32 %r2; st.global.u32 [%rd0], %r2;)");
  for (u32 t = 0; t < 32; ++t) CHECK(out[t] == (t % 2 ? 7 : 0x55555555));
}

TEST_CASE("both sides of a branch meet at a shuffle") {
  const auto out = threads(R"(
    setp.lt.u32 %p1, %r0, 7; @%p1 bra LOW; mov.u32 %r1, 100; bra MEET;
  LOW: mov.u32 %r1, 200;
  MEET: shfl.sync.idx.b32 %r2|%p2, %r1, 0, 31, 0xffffffff; st.global.u32 [%rd0], %r2;)");
  for (u32 t = 0; t < 32; ++t) CHECK(out[t] == 200);
}

TEST_CASE("one elected lane may spin while the others wait at bar.warp.sync") {
  const auto out = threads(R"(
    .shared .align 8 .b64 bar;
    mov.u32 %r5, bar;
    setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [%r5], 1; bar.warp.sync 0xffffffff;
    elect.sync %r9|%p2, 0xffffffff;
    setp.eq.u32 %p4, %r0, 31;
    @%p2 bra SPIN;
    @%p4 mbarrier.arrive.shared.b64 _, [%r5];
    bra JOIN;
  SPIN: mbarrier.try_wait.parity.shared.b64 %p3, [%r5], 0; @!%p3 bra SPIN;
  JOIN: bar.warp.sync 0xffffffff;
    st.global.u32 [%rd0], %r9;)");
  for (u32 t = 0; t < 32; ++t) CHECK(out[t] == 0);
}

TEST_CASE("a lane that polls memory does not starve the lane that writes it") {
  const auto out = threads(R"(
    .shared .u32 flag;
    mov.u32 %r5, flag;
    st.shared.u32 [%r5], 0; bar.warp.sync 0xffffffff;
    setp.eq.u32 %p1, %r0, 3; @%p1 bra WRITE;
  POLL: ld.volatile.shared.u32 %r1, [%r5]; setp.eq.u32 %p2, %r1, 0; @%p2 bra POLL; bra OUT;
  WRITE: st.volatile.shared.u32 [%r5], 42; mov.u32 %r1, 1;
  OUT: st.global.u32 [%rd0], %r1;)");
  for (u32 t = 0; t < 32; ++t) CHECK(out[t] == (t == 3 ? 1 : 42));
}

TEST_CASE("warp barriers may be met at different places") {
  const auto out = threads(R"(
    setp.lt.u32 %p1, %r0, 16; @%p1 bra LOW;
    bar.warp.sync 0xffffffff; mov.u32 %r1, 1; bra OUT;
  LOW: bar.warp.sync 0xffffffff; mov.u32 %r1, 2;
  OUT: st.global.u32 [%rd0], %r1;)");
  for (u32 t = 0; t < 32; ++t) CHECK(out[t] == (t < 16 ? 2 : 1));
}

TEST_CASE("votes, matches, reductions and shuffles") {
  CHECK(threads("setp.lt.u32 %p1, %r0, 5; vote.sync.ballot.b32 %r1, %p1, 0xffffffff; st.global.u32 [%rd0], %r1;")[9] ==
        31);
  CHECK(threads("setp.lt.u32 %p1, %r0, 5; vote.sync.any.pred %p2, %p1, 0xffffffff; selp.u32 %r1, 1, 0, %p2; "
                "st.global.u32 [%rd0], %r1;")[9] == 1);
  CHECK(threads("setp.lt.u32 %p1, %r0, 5; vote.sync.all.pred %p2, !%p1, 0xffffffff; selp.u32 %r1, 1, 0, %p2; "
                "st.global.u32 [%rd0], %r1;")[9] == 0);
  CHECK(threads("and.b32 %r1, %r0, 1; match.any.sync.b32 %r2, %r1, 0xffffffff; st.global.u32 [%rd0], %r2;")[1] ==
        0xAAAAAAAA);
  CHECK(threads("redux.sync.add.u32 %r1, %r0, 0xffffffff; st.global.u32 [%rd0], %r1;")[4] == 496);
  CHECK(threads("redux.sync.max.s32 %r1, %r0, 0xffffffff; st.global.u32 [%rd0], %r1;")[4] == 31);
  const auto down = threads("shfl.sync.down.b32 %r1|%p1, %r0, 4, 31, 0xffffffff; st.global.u32 [%rd0], %r1;");
  CHECK(down[3] == 7);
  CHECK(down[30] == 30);
  const auto up = threads("shfl.sync.up.b32 %r1|%p1, %r0, 4, 0, 0xffffffff; st.global.u32 [%rd0], %r1;");
  CHECK(up[3] == 3);
  CHECK(up[9] == 5);
  CHECK(threads("shfl.sync.bfly.b32 %r1, %r0, 1, 31, 0xffffffff; st.global.u32 [%rd0], %r1;")[6] == 7);
  // Segments of eight lanes.
  CHECK(threads("shfl.sync.idx.b32 %r1, %r0, 1, 0x181f, 0xffffffff; st.global.u32 [%rd0], %r1;")[17] == 17);
}

TEST_CASE("a branch table sends each lane its way") {
  const auto out = threads(R"(
    and.b32 %r1, %r0, 1;
    ts: .branchtargets EVEN, ODD;
    brx.idx %r1, ts;
  EVEN: mov.u32 %r2, 10; bra OUT;
  ODD: mov.u32 %r2, 11;
  OUT: st.global.u32 [%rd0], %r2;)");
  for (u32 t = 0; t < 32; ++t) CHECK(out[t] == 10 + t % 2);
}

TEST_CASE("bar.sync holds every warp until all have come") {
  const auto out = threads(R"(
    .shared .align 4 .b8 box[512];
    mov.u32 %r5, box; shl.b32 %r6, %r0, 2; add.u32 %r6, %r5, %r6;
    st.shared.u32 [%r6], %r0;
    bar.sync 0;
    xor.b32 %r7, %r0, 127; shl.b32 %r7, %r7, 2; add.u32 %r7, %r5, %r7; ld.shared.u32 %r8, [%r7];
    st.global.u32 [%rd0], %r8;)",
                           128);
  for (u32 t = 0; t < 128; ++t) CHECK(out[t] == 127 - t);
}

TEST_CASE("bar.arrive and bar.sync with counts pair producers and consumers") {
  const auto out = threads(R"(
    .shared .u32 value;
    mov.u32 %r5, value;
    shr.u32 %r1, %r0, 5; setp.eq.u32 %p1, %r1, 0; @%p1 bra PRODUCE;
    bar.sync 3, 64; ld.shared.u32 %r8, [%r5]; bra OUT;
  PRODUCE: mov.u32 %r8, 5; st.shared.u32 [%r5], 77; bar.arrive 3, 64;
  OUT: st.global.u32 [%rd0], %r8;)",
                           64);
  CHECK(out[0] == 5);
  CHECK(out[40] == 77);
}

TEST_CASE("a thread that arrives at a named barrier twice must know that its first use is over") {
  // Warps 1 and 2 do not wait; warp 0 does. `told`: by a second barrier, which says that the first is over.
  const auto repeated = [](const std::string& told) {
    return run_kernel(kernel("mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, 0;"
                             "L: @%p1 bra W; bar.arrive 3, 96; bra N; W: bar.sync 3, 96;\nN:" +
                             told + "add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 3; @%p2 bra L;"),
                      96);
  };
  const Run whole = repeated("bar.sync 4, 96;");
  CHECK_MESSAGE(whole.clean(), whole.findings());
  CHECK_MESSAGE(repeated("").has("may come before its last use is over [barrier-mismatch]"), "whatever the schedule");
}

TEST_CASE("a warp that arrives at a named barrier and then waits there counts twice") {
  // 32 threads arrive, 128 wait: 160. Without the count of all of them the first waits go on too early.
  const auto counted = [](const char* threads) {
    const std::string n = threads;
    return run_kernel(kernel("mov.u32 %r0, %tid.x; setp.ge.u32 %p1, %r0, 32; @%p1 bra W; bar.arrive 2, " + n +
                             ";\nW: bar.sync 2, " + n + ";"),
                      128);
  };
  const Run whole = counted("160");
  CHECK_MESSAGE(whole.clean(), whole.findings());
  CHECK(counted("128").has("[barrier-mismatch]"));
}

TEST_CASE("lanes of one store race, but for f32 that differ by rounding: race-rounding") {
  // Odd lanes store 1 + step, even ones 1.
  const auto stored = [](const std::string& step) {
    return run_kernel(kernel(own + "and.b32 %r1, %r0, 1; cvt.rn.f32.u32 %f1, %r1; fma.rn.f32 %f1, %f1, " + step +
                             ", 0f3F800000; st.global.f32 [%out], %f1;"),
                      32, 32);
  };
  CHECK(stored("0f00000000").clean());
  const Run rounded = stored("0f35000000");
  CHECK(rounded.has("[race-rounding]"));
  CHECK(!rounded.has("[race]"));
  CHECK(stored("0f38000000").has("[race]"));
}

TEST_CASE("a named barrier may pass from some warps to others when something orders the two uses") {
  const auto handed = [](const std::string& between) {
    return run_kernel(kernel("mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; setp.ge.u32 %p1, %r1, 2;\n"
                             "@%p1 bra S; bar.sync 3, 64;\nS:" +
                             between + "@!%p1 bra E; bar.sync 3, 64;\nE:"),
                      128);
  };
  CHECK_MESSAGE(handed("bar.sync 4, 128;").clean(), "after barrier 4");
  CHECK(handed("").has("[barrier-mismatch]"));
}

TEST_CASE("bar.red counts predicates of the whole CTA") {
  const auto out = threads("setp.lt.u32 %p1, %r0, 40; bar.red.popc.u32 %r1, 0, %p1; st.global.u32 [%rd0], %r1;", 64);
  CHECK(out[0] == 40);
  CHECK(out[63] == 40);
  CHECK(threads("setp.lt.u32 %p1, %r0, 40; barrier.red.aligned.or.pred %p2, 0, %p1; selp.u32 %r1, 1, 0, %p2; "
                "st.global.u32 [%rd0], %r1;",
                64)[63] == 1);
}

TEST_CASE("atomics return what was there") {
  const Run r = run_kernel(kernel("atom.global.add.u32 %r1, [%out], 1; atom.global.max.s32 %r2, [%out+4], 5; "
                                  "red.global.add.f32 [%out+8], 0f3F000000;"),
                           64);
  CHECK_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<u32>("out")[0] == 64);
  CHECK(r.read<u32>("out")[1] == 5);
  CHECK(r.read<float>("out")[2] == 32.0f);
  CHECK(threads(".shared .u32 cell; mov.u32 %r5, cell; st.shared.u32 [%r5], 9; bar.warp.sync 0xffffffff; "
                "atom.shared.cas.b32 %r1, [%r5], 9, %r0; st.global.u32 [%rd0], %r1;")[0] == 9);
}

TEST_CASE("local and constant memory") {
  const auto out = threads(R"(
    .local .align 16 .b8 depot[32];
    mov.u64 %rd1, depot; cvta.local.u64 %rd2, %rd1;
    st.local.u32 [%rd1+4], %r0; bar.warp.sync 0xffffffff; ld.u32 %r1, [%rd2+4];
    ld.const.u32 %r2, [table+8]; add.u32 %r1, %r1, %r2; st.global.u32 [%rd0], %r1;)",
                           32, ".const .align 4 .u32 table[4] = {1, 2, 30, 4};\n");
  for (u32 t = 0; t < 32; ++t) CHECK(out[t] == t + 30);
}

}  // namespace sim_divergence
