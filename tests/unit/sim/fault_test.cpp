// What a run reports, in which words.
#include <doctest/doctest.h>

#include "ptx/rules/catalogue.hpp"
#include "tests/unit/sim/run.hpp"

namespace sim_fault {

using namespace kiln;
using namespace kiln::test;
using sim::Outcome;

TEST_CASE("a store after a buffer names it") {
  const Run r = run_kernel(kernel("st.global.u32 [%out+256], 1;"));
  CHECK(r.result.outcome == Outcome::fault);
  CHECK(r.has("got 4 bytes at offset 256 of `out`, which has 256 [memory-bounds]"));
}

TEST_CASE("misaligned accesses fault") {
  CHECK(run_kernel(kernel("st.global.u32 [%out+2], 1;")).has(", not a multiple of 4 [memory-alignment]"));
  CHECK(run_kernel(kernel("st.global.v4.u32 [%out+8], {%r1, %r1, %r1, %r1};")).has("[memory-alignment]"));
}

TEST_CASE("unwritten memory is found once per instruction") {
  const Run r =
      run_kernel(kernel(".shared .align 4 .b8 box[128]; mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 2; mov.u32 "
                        "%r2, box; add.u32 %r1, %r1, %r2; ld.shared.u32 %r3, [%r1]; st.global.u32 [%out], %r3;"),
                 32);
  CHECK(r.result.outcome == Outcome::finished);
  CHECK(r.sink.all().size() == 1);
  CHECK(
      r.has("memory must be written before anything depends on what it holds; got 4 bytes at offset 0 of `box` as "
            "what is stored in global memory [memory-uninitialised]"));
}

TEST_CASE("what is not modelled is named where it stands") {
  const std::string open = "cvt.rs.satfinite.e4m3x4.f32 %r1, {%f1, %f1, %f1, %f1}, %r1;";
  const Run r = run_kernel(kernel("mov.u32 %r1, 0;\n" + open));
  CHECK(r.result.outcome == Outcome::incomplete);
  CHECK(r.sink.incomplete());
  CHECK(r.has("Kiln does not model this and says nothing about it; got `cvt.rs.satfinite.e4m3x4.f32`"));
  CHECK(run_kernel(kernel("bra END; " + open + " END:")).clean());
}

TEST_CASE("a deadlock lists what each thread waits for") {
  const Run r = run_kernel(head + R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<4>; .reg .b32 %r<9>;
  .shared .align 8 .b64 in_full[3];
  mov.u32 %r0, %tid.x; mov.u32 %r1, in_full;
  setp.ne.u32 %p0, %r0, 0; @%p0 bra SET;
  mbarrier.init.shared.b64 [%r1+16], 2;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r1+16], 512;
SET: bar.sync 0;
  setp.ge.u32 %p1, %r0, 32; @%p1 bra role_store;
role_mma:
WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r1+16], 0; @!%p2 bra WAIT;
role_store:
  bar.sync 1;
  ret;
})",
                           64);
  CHECK(r.result.outcome == Outcome::deadlock);
  CHECK(r.has("a wait must be able to end: all threads wait and no asynchronous operation is in flight [deadlock]"));
  CHECK(
      r.has("role `mma`, warp 0, all lanes of CTA (0, 0, 0) waits for mbarrier `in_full[2]`, phase 0 (parity 0): 1 of "
            "2 arrivals pending, 512 bytes outstanding"));
  CHECK(r.has("role `store`, warp 1, all lanes of CTA (0, 0, 0) waits for barrier 1: 32 of 64 threads arrived"));
}

TEST_CASE("a program may give up waiting") {
  const Run r = run_kernel(kernel(R"(
    .shared .align 8 .b64 bar;
    mov.u32 %r1, bar; mbarrier.init.shared.b64 [%r1], 1; mov.u32 %r2, 0;
  WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0; add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 10;
  @%p2 bra WAIT;
    st.global.u32 [%out], %r2;)"));
  CHECK_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<std::uint32_t>("out")[0] == 10);
}

TEST_CASE("an endless loop comes to the step limit") {
  sim::Options options;
  options.max_steps = 1000;
  const Run r = run_kernel(kernel("L: bra L;"), 32, 64, options);
  CHECK(r.result.outcome == Outcome::step_limit);
  CHECK(r.has("[step-limit]"));
}

TEST_CASE("mbarrier misuse is found") {
  const auto with = [](const std::string& text) {
    return run_kernel(kernel(".shared .align 8 .b64 bar; mov.u32 %r1, bar;" + text));
  };
  CHECK(with("mbarrier.arrive.shared.b64 _, [%r1];").has("[mbarrier-uninitialised]"));
  CHECK(with("mbarrier.init.shared.b64 [%r1], 0;").has("[mbarrier-count]"));
  CHECK(with("mbarrier.init.shared.b64 [%r1+4], 1;").has("[memory-alignment]"));
  CHECK(with("mbarrier.init.shared.b64 [%r1], 1; mbarrier.arrive.shared.b64 _, [%r1], 2;").has("[mbarrier-arrivals]"));
  CHECK(with("mbarrier.init.shared.b64 [%r1], 1; st.shared.u32 [%r1], 0; mbarrier.arrive.shared.b64 _, [%r1];")
            .has("[mbarrier-overwritten]"));
  CHECK(with("mbarrier.init.shared.b64 [%r1], 2; mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1], 2;")
            .has("got 2 arrivals with .noComplete; phase 0 waits for 2 [mbarrier-arrivals]"));
  CHECK(with("mbarrier.init.shared.b64 [%r1], 2; mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1];")
            .has(".noComplete without a count"));
  CHECK(with("mbarrier.init.shared.b64 [%r1], 1; mbarrier.expect_tx.relaxed.cta.shared.b64 [%r1], 1048576;")
            .has("[mbarrier-tx]"));
  CHECK(with("mbarrier.init.shared.b64 [%r1], 1; mbarrier.inval.shared.b64 [%r1]; mbarrier.arrive.shared.b64 _, [%r1];")
            .has("[mbarrier-uninitialised]"));
}

TEST_CASE("mbarrier phases follow arrivals, counts and bytes") {
  const Run r = run_kernel(kernel(R"(
    .shared .align 8 .b64 bar;
    mov.u32 %r1, bar; mbarrier.init.shared.b64 [%r1], 2;
    mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 1; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%out], %r2;
    mbarrier.arrive.shared.b64 %rd1, [%r1];
    mbarrier.pending_count.b64 %r3, %rd1; st.global.u32 [%out+4], %r3;
    mbarrier.arrive.expect_tx.shared.b64 %rd2, [%r1], 64;
    mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%out+8], %r2;
    mbarrier.complete_tx.relaxed.cta.shared.b64 [%r1], 64;
    mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%out+12], %r2;
    mbarrier.arrive_drop.shared.b64 _, [%r1]; mbarrier.arrive.shared.b64 _, [%r1];
    mbarrier.arrive.shared.b64 _, [%r1];
    mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%out+16], %r2;)"));
  CHECK_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<std::uint32_t>("out");
  CHECK(out[0] == 1);
  CHECK(out[1] == 2);
  CHECK(out[2] == 0);
  CHECK(out[3] == 1);
  CHECK(out[4] == 1);
}

TEST_CASE("threads outside the member mask are found") {
  CHECK(run_kernel(kernel("shfl.sync.idx.b32 %r1, %r1, 0, 31, 1;"), 32)
            .has("got lane 1 and the mask 0x1 [warp-member-mask]"));
  CHECK(
      run_kernel(kernel("bar.warp.sync 0xfffffff7;"), 32).has("got lane 3 and the mask 0xfffffff7 [warp-member-mask]"));
}

TEST_CASE("barriers have a number, and one count that is a number of warps") {
  const auto with = [](const std::string& text) { return run_kernel(kernel("mov.u32 %r0, %tid.x; " + text), 64); };
  CHECK(with("mov.u32 %r1, 16; bar.sync %r1;").has("got 16 [barrier-number]"));
  CHECK(with("mov.u32 %r1, 48; bar.sync 1, %r1;").has("got 48 [barrier-count]"));
  CHECK(with("mov.u32 %r1, 0; bar.sync 1, %r1;").has("got 0 [barrier-count]"));
  CHECK(with("setp.lt.u32 %p1, %r0, 32; @%p1 bra A; bar.sync 1, 64; bra E; A: bar.sync 1, 96; E:")
            .has("[barrier-mismatch]"));
  CHECK(
      with("setp.lt.u32 %p1, %r0, 32; @%p1 bra A; bar.sync 1; bra E; A: bar.sync 1, 64; E:").has("[barrier-mismatch]"));
}

TEST_CASE("a trap ends the run, and brx.idx has no target beyond its list") {
  const Run r = run_kernel(kernel("trap;"));
  CHECK(r.result.outcome == Outcome::fault);
  CHECK(r.has("no thread may reach a trap [trap-reached]"));
  CHECK(run_kernel(kernel("mov.u32 %r1, 2; ts: .branchtargets A, B; brx.idx %r1, ts; A: B:"))
            .has("got 2 of 2 targets [branch-index]"));
}

TEST_CASE("parameters are read, not written") {
  CHECK(run_kernel(kernel("mov.b64 %rd1, out; cvta.param.u64 %rd1, %rd1; st.u32 [%rd1], 0;"))
            .has("got a store to their offset 0 [param-read-only]"));
}

TEST_CASE("what is found has the rule's severity and its source") {
  const Run r = run_kernel(kernel("trap;"));
  REQUIRE(r.sink.all().size() == 1);
  const rules::RuleInfo& rule = rules::info(rules::Rule::trap_reached);
  CHECK(r.sink.all()[0].severity == rule.severity);
  CHECK(r.sink.all()[0].reference == rule.reference);
}

}  // namespace sim_fault
