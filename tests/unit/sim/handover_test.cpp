// From cluster to cluster through global memory: what the race detector remembers of those that ran before.
#include <doctest/doctest.h>

#include "tests/unit/sim/run.hpp"

namespace sim_handover {

using namespace kiln;
using namespace kiln::test;

namespace {

// CTA 0 copies 16 bytes of shared memory to out + 64 and sets the flag at out; CTA 1 waits for it and reads them.
Run hand_over(const std::string& wait, const std::string& flag) {
  const std::string text = R"(
    .shared .align 16 .b32 buf[4];
    mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; mov.u32 %r2, buf; add.u64 %rd1, %out, 64; @%p1 bra TAKE;
    mov.u32 %r3, 7; st.shared.v4.u32 [%r2], {%r3, %r3, %r3, %r3}; fence.proxy.async.shared::cta;
    cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16; cp.async.bulk.commit_group; )" +
                           wait + "; " + flag + R"(; ret;
  TAKE: ld.acquire.gpu.global.u32 %r4, [%out]; setp.eq.u32 %p2, %r4, 0; @%p2 bra TAKE;
    ld.global.u32 %r5, [%rd1]; st.global.u32 [%out+128], %r5;)";
  launch::Contract c;
  c.buffers.push_back(buffer("out", 256));
  launch::Launch l;
  l.grid = {2, 1, 1};
  l.params = {pointer("out")};
  c.launches.push_back(l);
  return run(kernel(text), c);
}

}  // namespace

TEST_CASE("a bulk store of an earlier cluster is complete for a thread that acquires a flag set after its wait") {
  const Run r = hand_over("cp.async.bulk.wait_group 0", "st.release.gpu.global.u32 [%out], 1");
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<std::uint32_t>("out")[32] == 7);
}

TEST_CASE("a bulk store whose sources alone were waited for is not complete for another cluster") {
  CHECK(hand_over("cp.async.bulk.wait_group.read 0", "st.release.gpu.global.u32 [%out], 1").has("[race-async]"));
}

TEST_CASE("a flag that is released at CTA scope hands nothing to another cluster") {
  CHECK(hand_over("cp.async.bulk.wait_group 0", "st.release.cta.global.u32 [%out], 1").has("[race-async]"));
}

TEST_CASE("an mbarrier is initialised once: by one thread, and again only after mbarrier.inval") {
  const std::string init = ".shared .align 8 .b64 bar; mov.u32 %r1, bar; mbarrier.init.shared.b64 [%r1], 1; ";
  const auto again = [&](const std::string& text) { return run_kernel(kernel(init + text)); };
  const Run once = again("");
  CHECK_MESSAGE(once.clean(), once.findings());
  CHECK(again("mbarrier.inval.shared.b64 [%r1]; mbarrier.init.shared.b64 [%r1], 1;").clean());
  CHECK(again("mbarrier.init.shared.b64 [%r1], 1;").has("[mbarrier-overwritten]"));
  const Run together = run_kernel(kernel(init), 32);
  CHECK(together.clean());
  CHECK(together.has("got 32 lanes [mbarrier-init-lanes]"));
  // Lanes that have gone different ways come to it one after the other.
  const std::string apart =
      ".shared .align 8 .b64 bar; mov.u32 %r1, bar; mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; @%p1 bra L; "
      "nanosleep.u32 1; L: mbarrier.init.shared.b64 [%r1], 1; ";
  const Run in_parts = run_kernel(kernel(apart), 32);
  CHECK_MESSAGE(in_parts.clean(), in_parts.findings());
  CHECK(in_parts.has("[mbarrier-init-lanes]"));
  const std::string counts = ".shared .align 8 .b64 bar; mov.u32 %r1, bar; mov.u32 %r2, %tid.x; add.u32 %r2, %r2, 1; ";
  CHECK(run_kernel(kernel(counts + "mbarrier.init.shared.b64 [%r1], %r2;"), 32).has("[mbarrier-overwritten]"));
}

TEST_CASE("mbarrier-inval: what is written where an mbarrier lives, at the write") {
  const auto writes = [](const std::string& text) {
    return run_kernel(
        kernel(".shared .align 16 .b8 mem[64]; mov.u32 %r1, mem; mbarrier.init.shared.b64 [%r1+8], 1; " + text));
  };
  const Run beside = writes("st.shared.b32 [%r1], 7; st.shared.b32 [%r1+16], 7;");
  CHECK_MESSAGE(beside.clean(), beside.findings());
  CHECK(writes("mbarrier.inval.shared.b64 [%r1+8]; st.shared.b32 [%r1+12], 7;").clean());
  CHECK(writes("st.shared.b32 [%r1+12], 7;").has("[mbarrier-inval]"));
  CHECK(writes("st.bulk.weak.shared::cta [%r1], 64, 0;").has("[mbarrier-inval]"));
  // What uses it later goes wrong: that is the error.
  const Run used = writes("st.shared.b32 [%r1+12], 7; mbarrier.arrive.shared.b64 _, [%r1+8];");
  CHECK(used.has("[mbarrier-overwritten]"));
}

TEST_CASE("a fence between a relaxed read and a relaxed write hands on what the read has found") {
  const auto relay = [](const std::string& fence) {
    return run_kernel(kernel(R"(
    .shared .align 4 .b32 x; .shared .align 4 .b32 first; .shared .align 4 .b32 second;
    mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 st.relaxed.cta.shared.u32 [first], 0;
    @%p1 st.relaxed.cta.shared.u32 [second], 0; bar.sync 0;
    setp.eq.u32 %p2, %r1, 32; @%p2 bra RELAY; setp.eq.u32 %p2, %r1, 64; @%p2 bra READ; @!%p1 bra END;
    st.shared.u32 [x], 7; fence.acq_rel.cta; st.relaxed.cta.shared.u32 [first], 1; bra END;
  RELAY: ld.relaxed.cta.shared.u32 %r2, [first]; setp.eq.u32 %p3, %r2, 0; @%p3 bra RELAY;
    )" + fence + R"( st.relaxed.cta.shared.u32 [second], 1; bra END;
  READ: ld.relaxed.cta.shared.u32 %r3, [second]; setp.eq.u32 %p3, %r3, 0; @%p3 bra READ;
    fence.acq_rel.cta; ld.shared.u32 %r4, [x];
  END: bar.sync 0;)"),
                      96);
  };
  const Run handed_on = relay("fence.acq_rel.cta;");
  CHECK_MESSAGE(handed_on.clean(), handed_on.findings());
  CHECK(relay("").has("[race]"));
}

}  // namespace sim_handover
