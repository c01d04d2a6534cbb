// Clusters that wait for each other, and the order in which clusters run.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/unit/sim/run.hpp"

namespace sim_side_by_side {

using namespace kiln;
using namespace kiln::test;

namespace {

struct Grid {
  std::uint32_t ctas = 2, threads = 1;
};

// %r1 is the CTA, %r2 the warp; data from %out on, flags from %rd1 on.
Run run_ctas(const std::string& body, Grid grid, std::uint64_t seed = 1) {
  launch::Contract c;
  c.buffers.push_back(buffer("out", 2048));
  launch::Launch l;
  l.grid = {grid.ctas, 1, 1};
  l.block = {grid.threads, 1, 1};
  l.params = {pointer("out")};
  c.launches.push_back(l);
  sim::Options options;
  options.seed = seed;
  options.max_steps = 2'000'000;
  return run(
      kernel("mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; shr.u32 %r2, %r2, 5; add.u64 %rd1, %out, 1024;\n" + body), c,
      options);
}

std::string spin(const std::string& label, const std::string& address, const std::string& load) {
  return label + ": " + load + " %r9, [" + address + "]; setp.eq.u32 %p9, %r9, 0; @%p9 bra " + label + ";\n";
}
const std::string acquire = "ld.acquire.gpu.global.u32", relaxed = "ld.relaxed.gpu.global.u32";

// CTA 0 waits for a flag of the last CTA, then reads its data.
std::string from_the_last(std::uint32_t ctas, const std::string& load) {
  return "setp.eq.u32 %p1, %r1, 0; @%p1 bra READ; setp.ne.u32 %p2, %r1, " + std::to_string(ctas - 1) +
         "; @%p2 ret; st.global.u32 [%out], 7; st.release.gpu.global.u32 [%rd1], 1; ret;\nREAD:\n" +
         spin("WAIT", "%rd1", load) + "ld.global.u32 %r4, [%out]; st.global.u32 [%out+4], %r4; ret;\n";
}

}  // namespace

TEST_CASE("a cluster that waits for a later one goes on once that one has written") {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const Run r = run_ctas(from_the_last(2, acquire), {2}, seed);
    REQUIRE_MESSAGE(r.clean(), r.findings());
    CHECK(r.read<std::uint32_t>("out")[1] == 7);
  }
}

TEST_CASE("clusters that run side by side race where nothing orders them") {
  for (const std::uint64_t seed : {1, 2, 3, 4}) CHECK(run_ctas(from_the_last(2, relaxed), {2}, seed).has("[race]"));
}

TEST_CASE("as many clusters start beside a waiting one as it takes") {
  CHECK(run_ctas(from_the_last(100, acquire), {100}).clean());
}

TEST_CASE("a barrier of all CTAs, again and again") {
  // Each CTA adds one, waits for all, and reads what its neighbour wrote before.
  const std::string grid_barrier = R"(
    mov.u32 %r5, 0; mov.u32 %r6, %nctaid.x; mov.u32 %r7, 0;
    ROUND: add.u32 %r7, %r7, %r6;
    mad.wide.u32 %rd2, %r1, 4, %out; st.global.u32 [%rd2], %r7;
    red.release.gpu.global.add.u32 [%rd1], 1;
    WAIT: ld.acquire.gpu.global.u32 %r9, [%rd1]; setp.lt.u32 %p1, %r9, %r7; @%p1 bra WAIT;
    add.u32 %r8, %r1, 1; rem.u32 %r8, %r8, %r6; mad.wide.u32 %rd3, %r8, 4, %out;
    mov.u32 %r11, 100; SLOW: sub.u32 %r11, %r11, 1; setp.ne.u32 %p1, %r11, 0; @%p1 bra SLOW;
    ld.global.u32 %r10, [%rd3];
    add.u32 %r7, %r7, %r6; red.release.gpu.global.add.u32 [%rd1], 1;
    AGAIN: ld.acquire.gpu.global.u32 %r9, [%rd1]; setp.lt.u32 %p1, %r9, %r7; @%p1 bra AGAIN;
    add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 3; @%p1 bra ROUND;
    ret;)";
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Run r = run_ctas(grid_barrier, {5}, seed);
    CHECK_MESSAGE(r.clean(), r.findings());
  }
  // Without the second barrier a CTA may write before its neighbour has read.
  std::string racy = grid_barrier;
  const std::size_t from = racy.find("add.u32 %r7, %r7, %r6; red"), to = racy.find("add.u32 %r5, %r5, 1;");
  racy.erase(from, to - from);
  bool is_found = false;
  for (std::uint64_t seed = 1; seed <= 20 && !is_found; ++seed) is_found = run_ctas(racy, {5}, seed).has("[race]");
  CHECK(is_found);
}

TEST_CASE("what one warp released reaches another of its cluster by way of another cluster") {
  const auto relay = [](const std::string& second) {
    return "setp.eq.u32 %p1, %r1, 1; @%p1 bra OTHER; setp.eq.u32 %p2, %r2, 1; @%p2 bra SECOND;\n"
           "st.global.u32 [%out], 7; st.release.gpu.global.u32 [%rd1], 1; ret;\n"
           "OTHER: setp.eq.u32 %p2, %r2, 1; @%p2 ret;\n" +
           spin("FIRST", "%rd1", acquire) + "st.release.gpu.global.u32 [%rd1+4], 1; ret;\nSECOND:\n" +
           spin("BACK", "%rd1+4", second) + "ld.global.u32 %r4, [%out]; ret;\n";
  };
  const Run good = run_ctas("mov.u32 %r3, %laneid; setp.ne.u32 %p3, %r3, 0; @%p3 ret;\n" + relay(acquire), {2, 64});
  CHECK_MESSAGE(good.clean(), good.findings());
  CHECK(run_ctas("mov.u32 %r3, %laneid; setp.ne.u32 %p3, %r3, 0; @%p3 ret;\n" + relay(relaxed), {2, 64}).has("[race]"));
}

TEST_CASE("clusters that all wait are a livelock") {
  const Run r = run_ctas(spin("WAIT", "%rd1", acquire) + "ret;", {3});
  CHECK_MESSAGE(r.has("[livelock]"), r.findings());
  CHECK(r.has("CTA (2, 0, 0)"));
}

TEST_CASE("more clusters than a chip has room for do not all start: that is incomplete") {
  // All CTAs but the last wait for it.
  const Run r = run_ctas("setp.eq.u32 %p1, %r1, 149; @%p1 st.release.gpu.global.u32 [%rd1], 1; @%p1 ret;\n" +
                             spin("WAIT", "%rd1", acquire) + "ret;",
                         {150});
  CHECK(r.sink.incomplete());
  CHECK_MESSAGE(r.has("148 fill the chip, and 2 have not started"), r.findings());
}

TEST_CASE("the seed chooses the order of clusters") {
  const auto order = [](std::uint64_t seed) {
    const Run r = run_ctas(
        "atom.relaxed.gpu.global.add.u32 %r4, [%rd1], 1; mad.wide.u32 %rd2, %r4, 4, %out; st.global.u32 [%rd2], %r1;",
        {6}, seed);
    REQUIRE_MESSAGE(r.clean(), r.findings());
    std::vector<std::uint32_t> all = r.read<std::uint32_t>("out");
    all.resize(6);
    return all;
  };
  CHECK(order(1) == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5});
  std::set<std::vector<std::uint32_t>> orders;
  for (std::uint64_t seed = 2; seed < 12; ++seed) {
    std::vector<std::uint32_t> one = order(seed);
    orders.insert(one);
    std::sort(one.begin(), one.end());
    CHECK(one == order(1));
  }
  CHECK(orders.size() > 5);
}

}  // namespace sim_side_by_side
