// Small kernels whose schedules can be counted by hand, and bugs that need a rare one.
#pragma once

#include <set>

#include "sim/schedule/explore.hpp"
#include "sim/schedule/recording.hpp"
#include "tests/unit/sim/run.hpp"

namespace kiln::test {

/// %r0: thread, %r1: warp; two words in shared memory at %r5 and %r6, zeroed, and all threads past a barrier.
inline std::string warps(const std::string& body) {
  return kernel(R"(
    .shared .align 8 .b64 bar; .shared .u32 first; .shared .u32 second; .shared .u32 own[32];
    mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; mov.u32 %r5, first; mov.u32 %r6, second; mov.u32 %r4, bar;
    and.b32 %r2, %r0, 31; setp.ne.u32 %p1, %r2, 0; @%p1 exit;
    mov.u32 %r7, own; shl.b32 %r8, %r1, 2; add.u32 %r7, %r7, %r8; st.shared.u32 [%r7], 0;
    setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.u32 [%r5], 0; @%p2 st.shared.u32 [%r6], 0;
    @%p2 mbarrier.init.shared.b64 [%r4], 2;
    barrier.sync 0;
    setp.eq.u32 %p3, %r1, 1; setp.eq.u32 %p4, %r1, 2;
)" + body);
}

/// Warp 0 does much and then shows a flag for a moment; warp 1, which soon looks, must not catch that moment.
inline const std::string glimpse = warps(R"(
    mov.u32 %r10, 0; mov.u32 %r11, 5; @%p2 mov.u32 %r11, 40;
  WORK: atom.shared.add.u32 %r12, [%r7], 1; add.u32 %r10, %r10, 1; setp.lt.u32 %p5, %r10, %r11; @%p5 bra WORK;
    @%p3 bra LOOK;
    st.volatile.shared.u32 [%r5], 1; st.volatile.shared.u32 [%r5], 0; bra DONE;
  LOOK: ld.volatile.shared.u32 %r13, [%r5]; setp.eq.u32 %p6, %r13, 1; @%p6 trap;
  DONE:)");

/// Two locks taken in opposite order.
inline const std::string two_locks = warps(R"(
    mov.u32 %r10, %r5; mov.u32 %r11, %r6; @%p3 mov.u32 %r10, %r6; @%p3 mov.u32 %r11, %r5;
  A: atom.acquire.cta.shared.cas.b32 %r12, [%r10], 0, 1; setp.ne.u32 %p5, %r12, 0; @%p5 bra A;
  B: atom.acquire.cta.shared.cas.b32 %r12, [%r11], 0, 1; setp.ne.u32 %p5, %r12, 0; @%p5 bra B;
    atom.release.cta.shared.exch.b32 %r12, [%r11], 0; atom.release.cta.shared.exch.b32 %r12, [%r10], 0;)");

struct Explored {
  sim::schedule::Exploration result{};
  std::vector<std::string> findings{};  // of each trace that has errors
  std::set<std::string> ends{};         // how traces end: outcome, what is said, bytes of the buffer
};

/// Runs every schedule of the kernel. No race is looked for: the question is what an order leaves, and which
/// of two arrivals that are in no order is told first differs.
inline Explored explore(const std::string& text, std::uint32_t threads, std::uint64_t limit = 5000,
                        sim::schedule::Grain grain = sim::schedule::Grain::fine) {
  Explored e;
  const auto once = [&](sim::schedule::Schedule& s, sim::Observer& o) {
    sim::Options options;
    options.schedule = &s;
    options.detect_races = false;
    const Run r = run_kernel(text, threads, 64, options, &o);
    if (r.sink.has_errors()) e.findings.push_back(r.findings());
    const auto bytes = r.read<char>("out");
    e.ends.insert(std::string(spelling(r.result.outcome)) + "\n" + r.findings() +
                  std::string(bytes.begin(), bytes.end()));
    return true;
  };
  e.result = sim::schedule::explore(limit, once, grain);
  return e;
}

}  // namespace kiln::test
