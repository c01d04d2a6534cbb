// The timed schedule: the same run as ever, in an order and at times that a chip's resources give.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/unit/timing/mainloop.hpp"

namespace kiln::test::timed_schedule_test {
namespace {

// The cycles between two reads of the clock around some text, by each warp's first thread; 32-bit words.
std::vector<std::uint32_t> around(const std::string& text, std::uint32_t threads, const std::string& before = "") {
  const std::string body = "mov.u32 %r90, %tid.x; and.b32 %r91, %r90, 31; setp.ne.u32 %p19, %r91, 0;\n" + before +
                           "\nmov.u32 %r92, %clock;\n" + text +
                           "\nmov.u32 %r93, %clock; sub.u32 %r93, %r93, %r92;\n"
                           "shr.u32 %r94, %r90, 3; mul.wide.u32 %rd40, %r94, 1; add.u64 %rd40, %rd40, %out;\n"
                           "@!%p19 st.global.u32 [%rd40], %r93;";
  const Timed t = time_of(kernel(body), one_buffer(threads), no_values);
  std::vector<std::uint32_t> cycles = t.run.read<std::uint32_t>("out");
  cycles.resize((threads + 31) / 32);
  return cycles;
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int k = 0; k < times; ++k) out += text;
  return out;
}

TEST_CASE("the same kernel takes the same cycles each time") {
  MainLoop loop;
  const auto once = [&] { return time_of(loop.ptx(), loop.contract(), no_values); };
  const Timed x = once(), y = once();
  CHECK(x.cycles() == y.cycles());
  CHECK(x.times[0].roles.size() == y.times[0].roles.size());
  CHECK(x.times[0].roles[1].issued == y.times[0].roles[1].issued);
}

TEST_CASE("an addition that needs the one before it waits for its latency, others follow each cycle") {
  const auto latency = std::uint32_t(b200()[timing::FactId::alu_latency]);
  CHECK(around(repeated("add.u32 %r1, %r1, 1;\n", 100), 32)[0] == doctest::Approx(100 * latency).epsilon(0.05));
  CHECK(
      around(repeated("add.u32 %r1, %r10, 1; add.u32 %r2, %r10, 1; add.u32 %r3, %r10, 1; add.u32 %r4, %r10, 1;\n", 25),
             32)[0] == doctest::Approx(100).epsilon(0.05));
}

TEST_CASE("exponents of one scheduler's warps follow each other, those of four do not") {
  std::string exponents;
  for (int k = 0; k < 32; ++k) exponents += fmt::format("ex2.approx.ftz.f32 %f{0}, %f{0};\n", k);
  const auto cycles = [&](std::uint32_t threads) {
    return time_of(kernel(exponents), one_buffer(threads), no_values).cycles();
  };
  const double each = b200()[timing::FactId::special_interval];
  CHECK(cycles(256) - cycles(128) == doctest::Approx(32 * each).epsilon(0.1));
  CHECK(cycles(128) - cycles(32) < 2 * each);
}

TEST_CASE("products of one scheduler's warps by mma.sync follow each other, a sum waits for the one before it") {
  const timing::Chip chip = harness::chip_of("h200");
  // So many warps, each with chains of 32 products in all.
  const auto cycles = [&](std::uint32_t threads, int chains, const char* extent = "16") {
    const std::string a = extent[0] == '8' ? "{%r1, %r1}, {%r1}" : "{%r1, %r1, %r1, %r1}, {%r1, %r1}";
    std::string body = "mov.u32 %r1, 0;\n", registers;
    for (int k = 0; k < 32; ++k) {
      const int c = k % chains * 4;
      const std::string sums = fmt::format("{{%f{}, %f{}, %f{}, %f{}}}", c, c + 1, c + 2, c + 3);
      body += fmt::format("mma.sync.aligned.m16n8k{}.row.col.f32.bf16.bf16.f32 {}, {}, {};\n", extent, sums, a, sums);
    }
    return time_of(kernel(body), one_buffer(threads), no_values, chip).cycles();
  };
  const double each = chip[timing::FactId::mma_sync_interval], latency = chip[timing::FactId::mma_sync_latency],
               half = chip[timing::FactId::mma_sync_latency_half];
  CHECK(cycles(256, 8) - cycles(128, 8) == doctest::Approx(32 * each).epsilon(0.1));
  CHECK(cycles(128, 8) - cycles(32, 8) < 2 * each);
  CHECK(cycles(32, 1) - cycles(32, 8) == doctest::Approx(31 * latency - 31 * each).epsilon(0.1));
  CHECK(cycles(32, 1) - cycles(32, 1, "8") == doctest::Approx(31 * (latency - half)).epsilon(0.1));
}

TEST_CASE("on Hopper a guard is later than other operands, and a branch that is taken costs more than its slot") {
  const timing::Chip chip = harness::chip_of("h200");
  const auto cycles = [&](const std::string& text) {
    const std::string before = ".shared .b32 word; mov.u32 %r1, 0; mov.u32 %r2, 1; setp.ne.u32 %p0, %r1, %r2;\n";
    return time_of(kernel(before + repeated(text, 32) + "ret;"), one_buffer(32), no_values, chip).cycles() / 32;
  };
  const double alu = chip[timing::FactId::alu_latency], guard = chip[timing::FactId::guard_latency],
               branch = chip[timing::FactId::branch];
  const std::string compare = "setp.ne.u32 %p1, %r1, %r2; ", change = "@%p1 add.u32 %r1, %r1, 3;\n";
  CHECK(cycles(compare + change) == doctest::Approx(alu + guard).epsilon(0.05));
  CHECK(cycles(compare + "selp.b32 %r1, %r2, %r3, %p1;\n") == doctest::Approx(2 * alu).epsilon(0.05));
  // Past so many additions, which is where the block ends.
  const auto past = [&](int additions, const std::string& last = "") {
    return cycles("{\n@%p0 bra PAST;\n" + repeated("add.u32 %r5, %r6, 1;\n", additions) + last + "PAST:\n}\n");
  };
  CHECK(past(6) == doctest::Approx(6).epsilon(0.1));
  CHECK(past(7) == doctest::Approx(branch).epsilon(0.1));
  CHECK(past(1, "membar.cta;\n") == doctest::Approx(branch).epsilon(0.1));
  // An atomic operation that no lane has is branched past.
  CHECK(cycles("@!%p0 atom.shared.add.u32 %r5, [word], 1;\n") == doctest::Approx(branch).epsilon(0.1));
}

TEST_CASE("a value that gets another name takes no time, a number that becomes a value takes a slot") {
  CHECK(around(repeated("mov.b32 %r1, %r10; mov.b32 %r2, %r1;\n", 100), 32)[0] < 5);
  CHECK(around(repeated("mov.b64 %rd1, {%r10, %r11}; mov.b64 {%r1, %r2}, %rd1;\n", 100), 32)[0] < 5);
  CHECK(around(repeated("mov.b32 %r1, 7; mov.b32 %r2, 8;\n", 100), 32)[0] >= 200);
}

TEST_CASE("warps of one scheduler share its slots, those of four do not") {
  const std::string work =
      repeated("add.u32 %r1, %r10, 1; add.u32 %r2, %r10, 1; add.u32 %r3, %r10, 1; add.u32 %r4, %r10, 1;\n", 100);
  CHECK(around(work + "bar.sync 0;", 128, "bar.sync 0;")[0] == doctest::Approx(420).epsilon(0.05));
  CHECK(around(work + "bar.sync 0;", 256, "bar.sync 0;")[0] == doctest::Approx(830).epsilon(0.05));
}

// Cycles in which each warp of two warpgroups issues eight wgmmas of 128 columns, a group of them.
std::vector<std::uint32_t> issued_wgmmas() {
  std::string sums, zeros, mma;
  for (int r = 0; r < 64; ++r) {
    sums += fmt::format("{}%f{}", r ? ", " : "", r);
    zeros += fmt::format("mov.f32 %f{}, 0f00000000;\n", r);
  }
  const std::string one =
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" + sums + "}, %rd1, %rd2, 1, 1, 1, 0, 0;\n";
  const std::string text = fmt::format(R"(.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 pool[];
.visible .entry k(.param .u64 out) {{
  .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<64>;
  {zeros}
  mov.u32 %r1, pool; shr.u32 %r1, %r1, 4; cvt.u64.u32 %rd1, %r1; or.b64 %rd1, %rd1, 0x4000004000010000;
  add.s64 %rd2, %rd1, 1024;
  bar.sync 0;
  mov.u32 %r2, %clock;
  wgmma.fence.sync.aligned;
  {mmas}
  mov.u32 %r3, %clock;
  wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
  sub.u32 %r3, %r3, %r2; mov.u32 %r4, %tid.x; mul.wide.u32 %rd3, %r4, 4; ld.param.u64 %rd4, [out];
  add.u64 %rd4, %rd4, %rd3; st.global.u32 [%rd4], %r3;
  ret;
}}
)",
                                       fmt::arg("zeros", zeros), fmt::arg("mmas", repeated(one, 8)));
  launch::Contract c = one_buffer(256);
  c.launches[0].dynamic_smem = 65536;
  const Timed t = time_of(text, c, no_values, harness::chip_of("h100"));
  const std::vector<std::uint32_t> all = t.run.read<std::uint32_t>("out");
  std::vector<std::uint32_t> warps;
  for (std::size_t w = 0; w < 8; ++w) warps.push_back(all[32 * w]);
  return warps;
}

TEST_CASE("the first warps of two warpgroups issue their wgmmas in turn, as room comes; the other warps do not wait") {
  const std::vector<std::uint32_t> cycles = issued_wgmmas();
  for (const std::size_t first : {0u, 4u}) {  // gemm_v4 on an H200: 454 to 619 cycles, and 131 to 148
    CHECK(cycles[first] == doctest::Approx(9 * 64.5).epsilon(0.2));
    for (std::size_t k = 1; k < 4; ++k) CHECK(cycles[first + k] < 200);
  }
}

TEST_CASE("a barrier of the CTA costs more with more threads, and holds all until the last has come") {
  const auto of = [](std::uint32_t threads) {  // the last warp's
    const auto cycles = around("bar.sync 0;", threads, "bar.sync 0;");
    return *std::min_element(cycles.begin(), cycles.end());
  };
  CHECK(of(32) == doctest::Approx(14.6).epsilon(0.1));
  CHECK(of(128) > of(32));
  CHECK(of(1024) == doctest::Approx(80).epsilon(0.1));
  const auto waits = around(
      "bar.sync 0;", 64,
      "setp.ge.u32 %p1, %r90, 32; @%p1 bra LATE; bra MEET; LATE:\n" + repeated("add.u32 %r1, %r1, 1;\n", 50) + "MEET:");
  CHECK(waits[0] > 200);
  CHECK(waits[1] < 25);
}

TEST_CASE("a fence of the GPU's scope takes as long as the chip says, one of the CTA's nothing") {
  CHECK(around("fence.acq_rel.gpu;", 32)[0] == doctest::Approx(b200()[timing::FactId::fence_wide]).epsilon(0.02));
  CHECK(around("fence.acq_rel.cta;", 32)[0] <= 2);
}

TEST_CASE("narrow rows keep the copy engine as long as wide ones") {
  // 64 + 64 rows of 32 bytes and of 128: one cycle each, if enough stages are in flight.
  const auto step = [](int k) {
    MainLoop loop{.m = 64, .n = 64, .k = k, .stages = 8};
    loop.steps = 64;
    const double few = time_of(loop.ptx(), loop.contract(), no_values).cycles();
    loop.steps = 128;
    return (time_of(loop.ptx(), loop.contract(), no_values).cycles() - few) / 64;
  };
  CHECK(step(16) == doctest::Approx(128).epsilon(0.01));
  CHECK(step(64) == doctest::Approx(128).epsilon(0.01));
}

TEST_CASE("more stages hide the latency of loads, until the tensor core is busy") {
  const auto cycles = [](int stages) {
    MainLoop loop{.m = 128, .n = 256, .k = 64, .stages = stages};
    return time_of(loop.ptx(), loop.contract(), no_values);
  };
  const Timed one = cycles(1), two = cycles(2), four = cycles(4);
  CHECK(one.cycles() > two.cycles());
  CHECK(two.cycles() > four.cycles());
  CHECK(four.times[0].uses[0].name == "tensor core");
  CHECK(four.times[0].uses[0].busy / four.cycles() > 0.9);
  CHECK(one.times[0].uses[0].busy / one.cycles() < 0.5);
}

TEST_CASE("a role's cycles are those that it issued and those that it waited, each with a reason") {
  MainLoop loop{.m = 128, .n = 256, .k = 64, .stages = 2};
  const Timed t = time_of(loop.ptx(), loop.contract(), no_values);
  for (const timing::RoleTime& role : t.times[0].roles) {
    if (role.name != "load" && role.name != "multiply") continue;
    const auto reasons = role.reasons();
    REQUIRE(!reasons.empty());
    CHECK(reasons[0].first.find(role.name == "load" ? "the tensor core" : "copies") != std::string::npos);
    CHECK(reasons[0].second > 0.7 * t.cycles());
    CHECK(role.issued + role.waited() <= 3 * t.cycles());
  }
}

TEST_CASE("a slower chip is slower, a faster one faster") {
  MainLoop loop{.m = 128, .n = 128, .k = 64, .stages = 2};
  const auto on = [&](const timing::Chip& chip) {
    return time_of(loop.ptx(), loop.contract(), no_values, chip).cycles();
  };
  const double plain = on(b200());
  CHECK(on(timing::bent(b200(), true)) > 1.01 * plain);
  CHECK(on(timing::bent(b200(), false)) < 0.99 * plain);
}

// Two threads of different warps write one word of shared memory.
const std::string race = R"(
  .shared .align 4 .b32 word;
  mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; setp.ne.u32 %p1, %r2, 0;
  @!%p1 st.shared.u32 [word], %r1;
)";

TEST_CASE("races are judged as in any other schedule") {
  timing::Surroundings s = no_values;
  s.values = true;
  timing::TimedSchedule schedule(b200(), s);
  sim::Options options;
  options.schedule = &schedule;
  const Run timed = run(kernel(race), one_buffer(64), options, &schedule), seeded = run(kernel(race), one_buffer(64));
  CHECK(timed.has("[race-shared]") == seeded.has("[race-shared]"));
  CHECK(timed.sink.has_errors());
  CHECK(seeded.sink.has_errors());
}

TEST_CASE("a deadlock is reported as in any other schedule") {
  timing::TimedSchedule schedule(b200(), no_values);
  sim::Options options;
  options.schedule = &schedule;
  const Run r = run(kernel(R"(
    .shared .align 8 .b64 bar;
    mbarrier.init.shared.b64 [bar], 1;
  W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
    @!%p1 bra W;)"),
                    one_buffer(1), options, &schedule);
  CHECK(r.result.outcome == sim::Outcome::deadlock);
}

}  // namespace
}  // namespace kiln::test::timed_schedule_test
