// Schedules: strategies, recordings, exploration.
#include <doctest/doctest.h>

#include "sim/schedule/replay.hpp"
#include "sim/schedule/sync_trace.hpp"
#include "tests/unit/sim/schedule_kernels.hpp"

namespace sim_schedule {

using namespace kiln;
using namespace kiln::test;
using sim::Outcome;
using sim::Strategy;

namespace {

Run run_with(const std::string& text, std::uint32_t threads, Strategy strategy, std::uint64_t seed) {
  sim::Options options;
  options.strategy = strategy;
  options.seed = seed;
  return run_kernel(text, threads, 64, options);
}

// The first seed with an error; 0 when there is none.
std::uint64_t first_bad(const std::string& text, Strategy strategy, std::uint64_t seeds) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed)
    if (run_with(text, 64, strategy, seed).sink.has_errors()) return seed;
  return 0;
}

std::uint64_t traces(const std::string& text, std::uint32_t threads) {
  const Explored e = explore(text, threads);
  CHECK(e.result.complete);
  CHECK_MESSAGE(e.findings.empty(), e.findings.front());
  return e.result.traces;
}

const std::string add_first = "atom.shared.add.u32 %r9, [%r5], 1;\n";
const std::string arrive = "mbarrier.arrive.shared.b64 _, [%r4];\n";

}  // namespace

TEST_CASE("exploring runs every order of operations on one object once, and no order of those on two") {
  CHECK(traces(warps(add_first), 32) == 1);
  CHECK(traces(warps(add_first), 64) == 2);
  CHECK(traces(warps(add_first), 96) == 6);
  CHECK(traces(warps(add_first + add_first), 64) == 6);  // 4! / (2! 2!)
  CHECK(traces(warps("@%p2 atom.shared.add.u32 %r9, [%r5], 1; @%p3 atom.shared.add.u32 %r9, [%r6], 1;"), 64) == 1);
  CHECK(traces(warps("ld.volatile.shared.u32 %r9, [%r5];"), 96) == 1);  // reads do not disturb each other
}

TEST_CASE("exploring knows that arrivals of one phase commute and those of two do not") {
  CHECK(traces(warps(arrive), 64) == 1);
  CHECK(traces(warps(arrive), 96) == 3);  // two of three complete phase 0, the third belongs to phase 1
}

TEST_CASE("exploring knows that arrivals in one generation of a counted barrier commute and those of two do not") {
  CHECK(traces(warps("barrier.sync 1, 64;"), 64) == 1);
  CHECK(traces(warps("barrier.sync 1, 96; barrier.sync 1, 96; barrier.sync 2, 96;"), 96) == 1);
  CHECK(traces(warps("@%p2 barrier.sync 1, 96; @!%p2 barrier.arrive 1, 96;"), 96) == 1);
  // Two of four arrive in each generation: four choose two.
  CHECK(traces(warps("barrier.arrive 1, 64;"), 128) == 6);
}

TEST_CASE("a fine exploration ends in the same ways as a coarse one, in fewer traces") {
  const std::string word =
      "atom.shared.add.u32 %r9, [%r5], 1; shl.b32 %r10, %r1, 2; cvt.u64.u32 %rd1, %r10; "
      "add.u64 %rd1, %rd1, %out; st.global.u32 [%rd1], %r9;\n";
  const std::string meet = "barrier.sync 1, 64;\n", all = "barrier.sync 1, 96;\n";
  const std::string look =
      "mbarrier.test_wait.parity.shared.b64 %p5, [%r4], 0; selp.u32 %r9, 1, 0, %p5; shl.b32 %r10, "
      "%r1, 2; cvt.u64.u32 %rd1, %r10; add.u64 %rd1, %rd1, %out; st.global.u32 [%rd1], %r9;\n";
  const std::string wait = "W: mbarrier.try_wait.parity.shared.b64 %p5, [%r4], 0; @!%p5 bra W;\n";
  struct Case {
    std::string text;
    std::uint32_t threads;
    std::uint64_t coarse, fine;  // traces
  };
  for (const Case& c :
       {Case{arrive, 64, 2, 1}, Case{arrive, 96, 6, 3}, Case{arrive + wait + word, 64, 4, 2},
        Case{arrive + look, 64, 2, 1}, Case{arrive + look + arrive, 64, 8, 3}, Case{arrive + wait + arrive, 64, 8, 3},
        Case{meet + word, 64, 4, 2}, Case{"@%p2 bra D;" + meet + word + "D:", 96, 4, 2}, Case{all + word, 96, 36, 6},
        Case{all + all, 96, 36, 1}, Case{meet + word, 96, 12, 6},  // one waits for ever
        Case{word + meet, 64, 4, 2}, Case{"barrier.arrive 1, 64;" + word, 96, 36, 18},
        Case{"bar.red.popc.u32 %r9, 1, 64, %p2; shl.b32 %r10, %r1, 2; cvt.u64.u32 %rd1, %r10; add.u64 "
             "%rd1, %rd1, %out; st.global.u32 [%rd1], %r9;",
             64, 2, 1}}) {
    const Explored coarse = explore(warps(c.text), c.threads, 20'000, sim::schedule::Grain::coarse);
    const Explored fine = explore(warps(c.text), c.threads, 20'000);
    CAPTURE(c.text);
    CAPTURE(c.threads);
    REQUIRE(coarse.result.complete);
    REQUIRE(fine.result.complete);
    CHECK(coarse.ends == fine.ends);
    CHECK(coarse.result.traces == c.coarse);
    CHECK(fine.result.traces == c.fine);
  }
}

TEST_CASE("exploring a spin on a flag sees the flag before and after, and no more") {
  CHECK(traces(warps(R"(@%p2 bra SET;
    SPIN: ld.acquire.cta.shared.u32 %r9, [%r5]; setp.eq.u32 %p5, %r9, 0; @%p5 bra SPIN; bra DONE;
    SET: st.release.cta.shared.u32 [%r5], 1;
    DONE:)"),
               64) == 2);
}

TEST_CASE("exploring knows that copies to mbarriers of their own complete in no order that matters") {
  // One thread issues two copies and waits for the one and then the other; another thread does something unrelated.
  const std::string text = kernel(R"(
    .shared .align 16 .b8 box[32]; .shared .align 8 .b64 one; .shared .align 8 .b64 two;
    mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; mov.u32 %r5, one; mov.u32 %r6, two; mov.u32 %r7, box;
    and.b32 %r2, %r0, 31; setp.ne.u32 %p1, %r2, 0; @%p1 exit;
    setp.eq.u32 %p2, %r1, 0; @!%p2 bra MEET;
    mbarrier.init.shared.b64 [%r5], 1; mbarrier.init.shared.b64 [%r6], 1; fence.proxy.async.shared::cta;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r5], 16; mbarrier.arrive.expect_tx.shared.b64 _, [%r6], 16;
  MEET: barrier.sync 0;
    @!%p2 bra LOOK;
    add.u32 %r8, %r7, 16;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r7], [%out], 16, [%r5];
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%out], 16, [%r6];
  W1: mbarrier.try_wait.parity.shared.b64 %p3, [%r5], 0; @!%p3 bra W1;
  W2: mbarrier.try_wait.parity.shared.b64 %p3, [%r6], 0; @!%p3 bra W2;
    bra DONE;
  LOOK: atom.global.add.u32 %r9, [%out+64], 1;
  DONE:)");
  CHECK(traces(text, 64) == 1);
}

TEST_CASE("a bug that needs a rare order is found by pct and by exploring, and not by the first seed") {
  CHECK(run_with(glimpse, 64, Strategy::random, 1).clean());
  const std::uint64_t seed = first_bad(glimpse, Strategy::pct, 3000);
  CHECK(seed != 0);
  CHECK(run_with(glimpse, 64, Strategy::pct, seed).has("[trap-reached]"));
}

// Lane 0 of warp 1 looks once whether the barrier is complete, and reads what warp 0 wrote where it is not.
std::string peek(const std::string& after) {
  return warps("@%p3 bra LOOK; st.shared.u32 [%r5], 1;" + arrive + arrive + "bra DONE;" +
               "LOOK: mbarrier.try_wait.parity.shared.b64 %p5, [%r4], 0;" + after + "DONE:");
}

TEST_CASE("what follows a failed peek is run by seeds and by pct, and an exploration says that it left it out") {
  const std::string misuse = peek("@!%p5 ld.shared.u32 %r9, [%r5];");
  CHECK(first_bad(misuse, Strategy::random, 100) != 0);
  CHECK(first_bad(misuse, Strategy::adversarial, 100) != 0);
  CHECK(first_bad(misuse, Strategy::pct, 100) != 0);
  CHECK(explore(misuse, 64).result.peeks);
  const std::string right = peek("@%p5 ld.shared.u32 %r9, [%r5];");
  CHECK(first_bad(right, Strategy::random, 100) == 0);
  CHECK(first_bad(right, Strategy::pct, 100) == 0);
}

TEST_CASE("a loop around a wait is no peek, as it is written by hand, by CUTLASS and by compilers") {
  const auto is_peek = [](const std::string& after) { return explore(peek(after), 64).result.peeks; };
  CHECK(!is_peek("@!%p5 bra LOOK;"));
  CHECK(!is_peek("@%p5 bra DONE; bra LOOK;"));
  CHECK(!is_peek("selp.b32 %r9, 1, 0, %p5; setp.eq.s32 %p6, %r9, 0; @%p6 bra LOOK;"));
  CHECK(is_peek("@%p5 bra DONE; st.shared.u32 [%r7], 1; bra LOOK;"));
  CHECK(is_peek("@%p5 bra LOOK;"));
}

// A run, and another one that follows its recording.
std::pair<Run, Run> followed(const std::string& text, Strategy s, std::uint64_t seed) {
  sim::schedule::Recording recording;
  sim::Options options;
  options.strategy = s;
  options.seed = seed;
  options.record = &recording;
  Run first = run_kernel(text, 64, 64, options);
  options.record = nullptr;
  options.replay = &recording;
  return {std::move(first), run_kernel(text, 64, 64, options)};
}

TEST_CASE("a recording with a failed peek is followed") {
  const std::string text = peek("@!%p5 st.shared.u32 [%r7], 1;");
  for (const Strategy s : {Strategy::random, Strategy::pct})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const auto [a, b] = followed(text, s, seed);
      CHECK(a.result.statistics.thread_instructions == b.result.statistics.thread_instructions);
    }
}

TEST_CASE("locks taken in opposite order are found by exploring as a livelock that says which thread reads what") {
  CHECK(run_with(two_locks, 64, Strategy::random, 1).clean());
  const Explored e = explore(two_locks, 64);
  CHECK(e.result.complete);
  REQUIRE(!e.findings.empty());
  CHECK(e.findings[0].find("[livelock]") != std::string::npos);
  CHECK(e.findings[0].find("reads 0x1 from shared address") != std::string::npos);
}

TEST_CASE("the same seed gives the same run, whatever the strategy") {
  for (const Strategy s : {Strategy::random, Strategy::adversarial, Strategy::pct}) {
    sim::schedule::Recording one, two;
    sim::Options options;
    options.strategy = s;
    options.seed = 7;
    options.record = &one;
    const Run a = run_kernel(glimpse, 64, 64, options);
    options.record = &two;
    const Run b = run_kernel(glimpse, 64, 64, options);
    CHECK(one == two);
    CHECK(a.findings() == b.findings());
  }
}

TEST_CASE("a recording that is followed gives the same bytes, findings and decisions") {
  for (const Strategy s : {Strategy::random, Strategy::adversarial, Strategy::pct})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const auto [a, b] = followed(two_locks, s, seed);
      CHECK(a.result.outcome == b.result.outcome);
      CHECK(a.findings() == b.findings());
      CHECK(a.contract.buffers[0].bytes == b.contract.buffers[0].bytes);
      CHECK(a.result.statistics.thread_instructions == b.result.statistics.thread_instructions);
    }
}

TEST_CASE("a recording of another program does not fit") {
  sim::schedule::Recording recording;
  sim::Options options;
  options.record = &recording;
  run_kernel(glimpse, 64, 64, options);
  options.record = nullptr;
  options.replay = &recording;
  CHECK_THROWS_WITH(run_kernel(warps(""), 64, 64, options),
                    doctest::Contains("the schedule does not fit this run: decision"));
}

TEST_CASE("livelock: threads that poll what no thread changes are found soon") {
  const Run r =
      run_kernel(warps("SPIN: ld.volatile.shared.u32 %r9, [%r5]; setp.eq.u32 %p5, %r9, 0; @%p5 bra SPIN;"), 64);
  CHECK(r.result.outcome == Outcome::livelock);
  CHECK(r.has("[livelock]"));
  CHECK(r.has("warp 1, lane 0 of CTA (0, 0, 0) reads 0x0 from shared address"));
  CHECK(r.result.statistics.warp_instructions < 200'000);
}

TEST_CASE("a poll for what a thread still computes is no livelock") {
  const Run r = run_kernel(warps(R"(@%p2 bra WORK;
    SPIN: ld.volatile.shared.u32 %r9, [%r5]; setp.eq.u32 %p5, %r9, 0; @%p5 bra SPIN; bra DONE;
    WORK: mov.u32 %r10, 0;
    MORE: add.u32 %r10, %r10, 1; setp.lt.u32 %p5, %r10, 300000; @%p5 bra MORE;
    st.volatile.shared.u32 [%r5], 1;
    DONE:)"),
                           64);
  CHECK(r.clean());
}

TEST_CASE("a poll for another cluster is incomplete, not wrong, where clusters run one after the other") {
  launch::Contract c;
  c.buffers.push_back(buffer("out", 256));
  launch::Launch l;
  l.grid = {2, 1, 1};
  l.params = {pointer("out")};
  c.launches.push_back(l);
  const Run r = run(kernel(R"(mov.u32 %r0, %ctaid.x; setp.eq.u32 %p1, %r0, 1; @%p1 st.release.gpu.global.u32 [%out], 1;
    SPIN: ld.acquire.gpu.global.u32 %r1, [%out]; setp.eq.u32 %p2, %r1, 0; @%p2 bra SPIN;)"),
                    c, {.strategy = sim::Strategy::pct});
  CHECK(r.result.outcome == Outcome::incomplete);
  CHECK(r.has("a wait for another cluster: with this schedule clusters run one after the other"));
  CHECK(!r.sink.has_errors());
}

TEST_CASE("two runs have the same trace when every object saw the same order") {
  const auto hash = [](std::uint64_t seed) {
    sim::schedule::SyncTrace trace;
    sim::Options options;
    options.seed = seed;
    run_kernel(warps(add_first), 64, 64, options, &trace);
    return trace.hash();
  };
  std::unordered_set<std::uint64_t> seen;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) seen.insert(hash(seed));
  CHECK(seen.size() == 2);
}

}  // namespace sim_schedule
