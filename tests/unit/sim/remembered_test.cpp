// What the race detector keeps of earlier accesses. Each case is a race that it once forgot, or one that is none; all
// were found by tests/order.
#include <doctest/doctest.h>

#include "tests/unit/sim/run.hpp"

namespace sim_remembered {

using namespace kiln;
using namespace kiln::test;

namespace {

// Runs `body` in `ctas` CTAs of `threads` threads; %r1 is the CTA, %r2 the thread.
Run run_ctas(const std::string& body, std::uint32_t ctas, std::uint32_t threads = 1, std::uint64_t seed = 1) {
  launch::Contract c;
  c.buffers.push_back(buffer("out", 256));
  launch::Launch l;
  l.grid = {ctas, 1, 1};
  l.block = {threads, 1, 1};
  l.params = {pointer("out")};
  c.launches.push_back(l);
  sim::Options options;
  options.seed = seed;
  return run(kernel("mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;\n" + body), c, options);
}

}  // namespace

TEST_CASE("a read by another CTA is remembered although the same lane reads the bytes again with the same opcode") {
  // CTA 0 reads, CTA 1 reads and writes: nothing orders the read of CTA 0 and the write.
  CHECK(run_ctas("ld.global.u32 %r4, [%out]; setp.eq.u32 %p1, %r1, 1; @%p1 st.global.u32 [%out], 7;", 2).has("[race]"));
}

TEST_CASE("atomics whose scope does not include the other CTA race") {
  CHECK(run_ctas("atom.relaxed.cta.global.add.u32 %r4, [%out], 1;", 2).has("[race]"));
  CHECK(run_ctas("atom.relaxed.gpu.global.add.u32 %r4, [%out], 1;", 2).clean());
  CHECK(run_ctas("atom.relaxed.cta.global.add.u32 %r4, [%out], 1;", 1, 64).clean());
}

TEST_CASE("a strong write does not take the place of a weak access that later strong ones race with") {
  // CTA 0 reads weakly, then adds; CTA 1 adds.
  CHECK(
      run_ctas("setp.eq.u32 %p1, %r1, 0; @%p1 ld.global.u32 %r4, [%out]; red.relaxed.gpu.global.add.u32 [%out], 1;", 2)
          .has("[race]"));
  // Each CTA adds; the last one then reads weakly without knowing of the first.
  CHECK(
      run_ctas("red.relaxed.gpu.global.add.u32 [%out], 1; setp.eq.u32 %p1, %r1, 1; @%p1 ld.global.u32 %r4, [%out];", 2)
          .has("[race]"));
}

TEST_CASE("knowledge of another cluster says nothing of components with the same number here") {
  // Each CTA acquires what the one before released, copies and waits; none releases behind its copy but the first.
  const Run r = run_ctas(R"(
    .shared .align 16 .b8 s[16]; mov.u32 %r3, s; st.shared.v4.u32 [%r3], {0, 0, 0, 0}; fence.proxy.async;
    add.u64 %rd1, %out, 128; setp.eq.u32 %p1, %r1, 0;
    atom.acq_rel.gpu.global.add.u32 %r4, [%rd1], 1;
    cp.async.bulk.global.shared::cta.bulk_group [%out], [%r3], 16; cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    @%p1 atom.release.gpu.global.add.u32 %r4, [%rd1], 1;)",
                         3);
  CHECK(r.has("[race-async]"));
}

TEST_CASE("a bulk load that an mbarrier of an earlier cluster completed is known to be over") {
  const Run r = run_ctas(R"(
    .shared .align 16 .b8 s[16]; .shared .align 8 .b64 m; mov.u32 %r3, s; mov.u32 %r5, m; add.u64 %rd1, %out, 128;
    setp.eq.u32 %p1, %r1, 1; @%p1 bra SECOND;
    mbarrier.init.shared::cta.b64 [%r5], 1; fence.mbarrier_init.release.cluster; fence.proxy.async;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 16;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%out], 16, [%r5];
  W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], 0; @!%p2 bra W;
    st.release.gpu.global.u32 [%rd1], 1; ret;
  SECOND: ld.acquire.gpu.global.u32 %r4, [%rd1]; st.global.u32 [%out], 7;)",
                         2);
  CHECK_MESSAGE(r.clean(), r.findings());
}

TEST_CASE("copies that follow an arrival in the same group are not covered by the arrival") {
  const std::string copy = "cp.async.ca.shared.global [%r3], [%out], 16; ";
  const auto kernel_with = [&](const std::string& before, const std::string& after) {
    return run_ctas(R"(
    .shared .align 16 .b8 s[16]; .shared .align 8 .b64 m; mov.u32 %r3, s; mov.u32 %r5, m; setp.eq.u32 %p1, %r2, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r5], 1; bar.sync 0; setp.eq.u32 %p2, %r2, 32; @%p2 bra WAIT;
    @!%p1 ret; )" + before +
                        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r5]; " + after + R"( ret;
  WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r5], 0; @!%p3 bra WAIT;
    ld.shared.u32 %r6, [%r3];)",
                    1, 64);
  };
  CHECK(kernel_with(copy, "").clean());
  bool found = false;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) found |= kernel_with("", copy).has("[race");
  CHECK(found);
}

TEST_CASE("a strong store of the value that is there is no read: it acquires nothing, and ends what others released") {
  // Thread 0 publishes; thread 32 stores the same value without order; thread 64 acquires from that store.
  bool found = false;
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    found |= run_ctas(R"(
    .shared .align 4 .b32 f; .shared .align 4 .b32 x; setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r2, 32;
    setp.eq.u32 %p3, %r2, 64; @%p1 st.shared.u32 [f], 0; @%p1 st.shared.u32 [x], 0; bar.sync 0;
    @%p1 st.shared.u32 [x], 1; @%p1 st.release.cta.shared.u32 [f], 1;
    @%p2 st.relaxed.cta.shared.u32 [f], 1; @%p2 fence.acq_rel.cta; @%p2 ld.shared.u32 %r4, [x];)",
                      1, 96, seed)
                 .has("[race]");
  CHECK(found);
}

TEST_CASE("a lane that stores in another turn of a loop is not the same instruction") {
  CHECK(run_ctas(R"(
    .shared .align 4 .b32 x; mov.u32 %r4, 0;
  L: setp.eq.u32 %p1, %r2, %r4; add.u32 %r5, %r4, 1; @%p1 st.shared.u32 [x], %r5;
    add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 2; @%p2 bra L;)",
                 1, 32)
            .has("[race]"));
}

TEST_CASE("one thread that makes the same copy twice has made two") {
  CHECK(run_ctas(R"(
    .shared .align 16 .b8 s[16]; mov.u32 %r3, s; st.shared.v4.u32 [%r3], {0, 0, 0, 0}; fence.proxy.async; mov.u32 %r4, 0;
  L: cp.async.bulk.global.shared::cta.bulk_group [%out], [%r3], 16;
    add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 2; @%p2 bra L;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;)",
                 1)
            .has("[race-async]"));
}

TEST_CASE("a release fence before a warp barrier serves the lane that sets the flag") {
  const Run r = run_ctas(R"(
    add.u64 %rd1, %out, 128; setp.eq.u32 %p1, %r1, 1; @%p1 bra SECOND;
    setp.eq.u32 %p2, %r2, 1; @%p2 st.global.u32 [%out], 7; fence.acq_rel.gpu; bar.warp.sync -1;
    setp.eq.u32 %p3, %r2, 0; @%p3 st.relaxed.gpu.global.u32 [%rd1], 1; ret;
  SECOND: setp.eq.u32 %p3, %r2, 0; @%p3 ld.acquire.gpu.global.u32 %r4, [%rd1]; @%p3 ld.global.u32 %r5, [%out];)",
                         2, 32);
  CHECK_MESSAGE(r.clean(), r.findings());
}

TEST_CASE(
    "a warp that a barrier has released knows of the arrivals, although others have used the barrier again since") {
  // Warp 1 arrives for warp 0, then uses the barrier four times alone.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Run r = run_ctas(R"(
    setp.lt.u32 %p1, %r2, 32; setp.eq.u32 %p2, %r2, 32; setp.eq.u32 %p3, %r2, 0;
    @%p2 st.global.u32 [%out], 7; @!%p1 bar.arrive 2, 64; @%p1 bar.sync 2, 64;
    @!%p1 bar.sync 2, 32; @!%p1 bar.sync 2, 32; @!%p1 bar.sync 2, 32; @!%p1 bar.sync 2, 32;
    @%p3 st.global.u32 [%out], 8;)",
                           1, 64, seed);
    CHECK_FALSE_MESSAGE(r.has("[race]"), r.findings());
  }
}

TEST_CASE("a write that was read before a reduction needs no fence for a copy after it: its reads do") {
  const Run r = run_ctas(R"(
    .shared .align 16 .b8 s[16]; mov.u32 %r3, s; st.shared.v4.u32 [%r3], {0, 0, 0, 0}; fence.proxy.async.shared::cta;
    st.global.u32 [%out], 7; ld.global.u32 %r4, [%out];
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [%r3], 16; cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    cp.async.bulk.global.shared::cta.bulk_group [%out], [%r3], 16; cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;)",
                         1);
  CHECK(r.has("[proxy-fence-read]"));
  CHECK_FALSE(r.has("[proxy-fence]"));
}

}  // namespace sim_remembered
