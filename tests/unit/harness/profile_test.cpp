#include "harness/profile/profile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "dsl/entry.hpp"
#include "emit/emit.hpp"
#include "harness/problem/fill.hpp"
#include "harness/profile/kernel_facts.hpp"
#include "harness/run/launch_clocks.hpp"
#include "ptx/parse/parse.hpp"
#include "sim/simulate.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::profile_tests {
namespace {

struct Profiled {
  ProfilePlan plan{};
  launch::Contract contract{};
  sim::Result result{};
  std::vector<WarpProfile> warps{};
};

ir::Module parsed(const std::string& text) {
  diag::Sink sink;
  ir::Module m = parse::parse(std::make_shared<const diag::Source>("k.ptx", text), sink);
  REQUIRE(!sink.has_errors());
  return m;
}

Profiled simulated(ir::Module module, launch::Contract contract, std::uint32_t records = 1024) {
  Profiled p;
  p.plan = instrument(module, contract, records);
  fill(contract);
  const ir::Module again = parsed(emit::emit_unverified(module));
  diag::Sink sink;
  p.result = sim::simulate(again, contract, {}, sink);
  p.contract = std::move(contract);
  p.warps = read_profile(p.plan, p.contract);
  return p;
}

// What warps of one CTA each wrote: two sites, "Setup" and "Run", and room for four records a warp.
struct Noted {
  ProfilePlan plan{};
  launch::Contract contract{};

  explicit Noted(std::uint32_t warps) {
    plan.sites = {{Phase::setup, {}, {}}, {Phase::run, "load", {}}};
    plan.records = 4;
    plan.first_warps = {0};
    launch::Launch l;
    l.grid = {warps, 1, 1}, l.block = {32, 1, 1};
    contract.launches = {l};
    launch::Buffer b;
    b.name = ProfilePlan::buffer, b.dtype = isa::ScalarType::u64, b.shape = {warps, plan.warp_bytes() / 8};
    b.bytes.assign(b.size(), 0xFF);
    contract.buffers = {b};
  }

  void put(std::uint64_t warp, std::uint64_t at, std::uint64_t word) {
    std::memcpy(&contract.buffers[0].bytes[warp * plan.warp_bytes() + at], &word, sizeof word);
  }
  // The SM, the global timer and the clock where it begins; how many records, the timer and the clock where it ends.
  void life(std::uint64_t warp, std::array<std::uint64_t, 3> begin, std::array<std::uint64_t, 3> end) {
    for (std::size_t i = 0; i < 3; ++i) put(warp, 8 * i, begin[i]), put(warp, 32 + 8 * i, end[i]);
  }
  void record(std::uint64_t warp, std::uint64_t number, std::uint64_t site, std::uint64_t clock) {
    const std::uint64_t at = ProfilePlan::header_bytes + number * ProfilePlan::record_bytes;
    put(warp, at, site), put(warp, at + 8, clock);
  }
};

// A kernel of the table in its standard size.
Profiled simulated(std::string_view kernel, std::uint32_t records = 1024) {
  const auto table = dsl::kernel_table();
  const auto entry = std::find_if(table.begin(), table.end(), [&](const dsl::Entry& e) { return e.name == kernel; });
  REQUIRE(entry != table.end());
  const dsl::Sizes sizes = dsl::with_strategy(*entry, dsl::standard_sizes(*entry));
  dsl::Kernel k = entry->build(entry->targets.front(), sizes);
  launch::Contract contract = entry->problem(k, sizes);
  return simulated(std::move(k.module), std::move(contract), records);
}

// "WaitTMA in_full" and so on, without repeating what is the same up to the slot.
std::vector<std::string> phases(const Profiled& p, const WarpProfile& w) {
  std::vector<std::string> out;
  for (const ProfilePhase& phase : w.phases) {
    const ProfileSite& site = p.plan.sites[phase.site];
    out.push_back(std::string(spelling(site.phase)) + (site.barrier.empty() ? "" : " " + site.barrier));
  }
  return out;
}

const WarpProfile& first_of(const Profiled& p, const std::string& role) {
  const auto found =
      std::find_if(p.warps.begin(), p.warps.end(), [&](const auto& w) { return role_of(p.plan, w) == role; });
  REQUIRE(found != p.warps.end());
  return *found;
}

// A one-thread role that waits for an mbarrier that never completes.
constexpr const char* stuck = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 A)
{
  .reg .pred %p<4>; .reg .b32 %r<8>;
  .shared .align 8 .b64 full[2];
  mov.u32 %r0, full;
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p0, %r1, 0;
  @%p0 bra ready;
  mbarrier.init.shared::cta.b64 [%r0], 1;
  mbarrier.init.shared::cta.b64 [%r0+8], 1;
ready:
  bar.sync 0;
role_load:
  @%p0 bra end_load;
wait_load:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r0+8], 0;
  @!%p1 bra wait_load;
end_load:
  bar.sync 0;
  ret;
}
)";

launch::Contract stuck_contract() {
  launch::Contract c;
  launch::Buffer a;
  a.name = "A", a.dtype = isa::ScalarType::u32, a.shape = {1};
  c.buffers = {a};
  launch::Launch l;
  l.grid = {2, 1, 1}, l.block = {64, 1, 1};
  l.params = {{launch::PointerParam{"A", 0}}};
  c.launches = {l};
  return c;
}

TEST_CASE("S0-68: a profiled gemm's roles go through their phases in order") {
  const Profiled p = simulated("gemm_bf16");
  CHECK(p.result.outcome == sim::Outcome::finished);
  const std::vector<std::string> store = phases(p, first_of(p, "store"));
  CHECK(store == std::vector<std::string>{"Setup", "WaitMainloop done", "Epilogue", "Cleanup"});
  // Eight blocks of K: a wait for a slot and what is done with it, eight times.
  for (const auto& [role, wait, work] :
       {std::tuple{"load", "WaitMMA in_empty", "IssueTMA"}, std::tuple{"mma", "WaitTMA in_full", "IssueMMA"}}) {
    const std::vector<std::string> seen = phases(p, first_of(p, role));
    REQUIRE(seen.size() == 18);
    CHECK(seen.front() == "Setup");
    CHECK(seen.back() == "Cleanup");
    for (std::size_t i = 1; i + 1 < seen.size(); ++i) CHECK(seen[i] == (i % 2 ? wait : work));
  }
}

TEST_CASE("S0-68: the persistent gemm of pairs shows every phase, WaitEpilogue too") {
  const Profiled p = simulated("gemm_v6");
  std::set<std::string> all;
  for (const WarpProfile& w : p.warps)
    for (const ProfilePhase& phase : w.phases) all.insert(std::string(spelling(p.plan.sites[phase.site].phase)));
  for (const char* tag :
       {"Setup", "WaitTMA", "IssueTMA", "WaitMMA", "IssueMMA", "WaitMainloop", "Epilogue", "WaitEpilogue"})
    CHECK_MESSAGE(all.count(tag) == 1, tag);
}

TEST_CASE("a wait's record says which of the ring's mbarriers it is for") {
  const Profiled p = simulated("gemm_bf16");
  std::vector<std::uint32_t> slots;
  for (const ProfilePhase& phase : first_of(p, "mma").phases)
    if (p.plan.sites[phase.site].phase == Phase::wait_tma) slots.push_back(phase.index);
  CHECK(slots == std::vector<std::uint32_t>{0, 1, 2, 3, 0, 1, 2, 3});
}

TEST_CASE("phases of a warp follow one another, and every warp of every CTA is there and finished") {
  const Profiled p = simulated("gemm_bf16");
  CHECK(p.warps.size() == p.contract.launches[0].grid.volume() * 6);
  for (const WarpProfile& w : p.warps) {
    CHECK(w.finished);
    CHECK(w.dropped == 0);
    for (std::size_t i = 0; i < w.phases.size(); ++i) {
      CHECK(w.phases[i].begin <= w.phases[i].end);
      if (i > 0) CHECK(w.phases[i - 1].end == w.phases[i].begin);
    }
  }
  CHECK(last_phases(p.plan, p.warps).empty());
}

TEST_CASE("phases that there is no room for are counted") {
  const Profiled p = simulated("gemm_bf16", 4);
  const WarpProfile& load = first_of(p, "load");
  CHECK(load.phases.size() == 4);
  CHECK(load.dropped == 14);
  CHECK(load.finished);
}

TEST_CASE("what begins a phase is told by the instruction, whose space says which way a copy goes") {
  const auto phase = [](const std::string& text) {
    const ir::Module m = parsed(
        ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n  .reg .b32 %r<9>;"
        " .reg .b64 %d<9>; .reg .pred %p;\n  " +
        text + "\n}\n");
    for (const ir::Statement& s : m.find_function("k")->body->statements)
      if (const auto* i = std::get_if<ir::Instruction>(&s.node)) {
        const auto found = phase_of(*i);
        return std::string(found ? spelling(*found) : "none");
      }
    return std::string("no instruction");
  };
  CHECK(phase("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r0], [%d0, {%r1}], "
              "[%r2];") == "IssueTMA");
  CHECK(phase("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%d0, {%r1}], [%r0];") == "Epilogue");
  CHECK(phase("tcgen05.mma.cta_group::1.kind::f16 [%r0], %d0, %d1, %r1, %p;") == "IssueMMA");
  CHECK(phase("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r0,%r1,%r2,%r3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
              "{%r0,%r1,%r2,%r3};") == "IssueMMA");
  CHECK(phase("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%r1];") == "Epilogue");
  CHECK(phase("st.global.b32 [%d0], %r0;") == "Epilogue");
  CHECK(phase("st.shared.b32 [%r1], %r0;") == "none");
  CHECK(phase("add.u32 %r0, %r1, %r2;") == "none");
}

TEST_CASE("a kernel that hangs leaves the last phase of each of its warps") {
  const Profiled p = simulated(parsed(stuck), stuck_contract());
  CHECK(p.result.outcome == sim::Outcome::deadlock);
  const std::vector<std::string> last = last_phases(p.plan, p.warps);
  CHECK(std::find(last.begin(), last.end(), "load: WaitMainloop full[1] (1 warp)") != last.end());
  CHECK(std::find(last.begin(), last.end(), "warp 1: Setup (1 warp)") != last.end());
}

TEST_CASE("the timeline is in the trace's format, with a track for each warp and what it waits for") {
  const Profiled p = simulated("gemm_bf16");
  const auto j = nlohmann::json::parse(profile_json(p.plan, p.contract, p.warps, "gemm_bf16", ProfileClock::simulated));
  CHECK(test::contains(j["otherData"]["clock"], "not time"));
  std::map<std::string, int> names;
  bool waits = false;
  for (const auto& e : j["traceEvents"]) {
    if (e["ph"] == "M" && e["name"] == "thread_name") ++names[e["args"]["name"]];
    if (e["ph"] == "X" && e["args"].contains("mbarrier")) waits |= e["args"]["mbarrier"] == "in_full[3]";
  }
  CHECK(names["warp 4: load"] == int(p.contract.launches[0].grid.volume()));
  CHECK(names["warp 0: store"] == int(p.contract.launches[0].grid.volume()));
  CHECK(waits);
}

TEST_CASE("a GPU's nanoseconds are written as microseconds, and SMs stand side by side by the global timer") {
  Noted noted(2);
  // Two SMs whose clocks have nothing in common; two clocks are a nanosecond.
  const std::uint64_t clocks[] = {1'000'000, 77}, times[] = {5'000, 5'400};
  for (std::uint64_t w = 0; w < 2; ++w) {
    noted.life(w, {w, times[w], clocks[w]}, {2, times[w] + 1'000, clocks[w] + 2'000});
    noted.record(w, 0, 0, clocks[w]);
    noted.record(w, 1, 1, clocks[w] + 500);
  }
  const auto& [plan, c] = noted;
  const std::vector<WarpProfile> warps = read_profile(plan, c);
  REQUIRE(warps.size() == 2);
  CHECK(warps[0].phases[0].begin == 0);
  CHECK(warps[0].phases[1].begin == 250);
  CHECK(warps[1].sm == 1);
  CHECK(warps[1].phases[0].begin == 400);
  CHECK(warps[1].phases[1].end == 1'400);
  CHECK(test::contains(profile_json(plan, c, warps, "k", ProfileClock::gpu), R"("ts":0.250,"dur":0.750,"name":"Run")"));
}

TEST_CASE("lanes that have parted write over each other's records, and phases still follow one another") {
  Noted noted(1);
  noted.life(0, {0, 0, 100}, {3, 1'000, 1'100});
  noted.record(0, 0, 0, 100);
  noted.record(0, 1, 1, 900);  // the lanes that were there first went on to here
  noted.record(0, 2, 0, 400);  // the others came by later places before
  const std::vector<WarpProfile> warps = read_profile(noted.plan, noted.contract);
  REQUIRE(warps.size() == 1);
  std::vector<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>> phases;
  for (const ProfilePhase& p : warps[0].phases) phases.emplace_back(p.site, p.begin, p.end);
  CHECK(phases == decltype(phases){{0, 0, 800}, {1, 800, 1'000}});
}

TEST_CASE("a module that notes clocks writes the two ends of each warp and no phase") {
  for (const char* name : {"gemm_v4", "gemm_split_k"}) {
    const auto table = dsl::kernel_table();
    const auto entry = std::find_if(table.begin(), table.end(), [&](const dsl::Entry& e) { return e.name == name; });
    REQUIRE(entry != table.end());
    const dsl::Sizes sizes = dsl::with_strategy(*entry, dsl::standard_sizes(*entry));
    dsl::Kernel k = entry->build(entry->targets.front(), sizes);
    launch::Contract contract = entry->problem(k, sizes);
    std::uint64_t warps = 0;
    for (const launch::Launch& l : contract.launches) warps += l.grid.volume() * l.block.volume() / 32;
    const ProfilePlan plan = instrument_ends(k.module, contract);
    CHECK(plan.sites.empty());
    fill(contract);
    const ir::Module again = parsed(emit::emit_unverified(k.module));
    diag::Sink sink;
    REQUIRE(sim::simulate(again, contract, {}, sink).outcome == sim::Outcome::finished);
    const std::vector<WarpEnds> ends = read_ends(plan, contract, contract.at(ProfilePlan::buffer).bytes);
    CHECK(ends.size() == warps);
    for (const WarpEnds& e : ends) CHECK(e.cycles > 0);
    CHECK(launch_clocks(ends).size() == contract.launches.size());
    std::vector<std::uint8_t> unfinished = contract.at(ProfilePlan::buffer).bytes;
    std::fill_n(unfinished.begin() + 48, 8, 0xFF);
    CHECK(read_ends(plan, contract, unfinished).size() == warps - 1);
  }
}

TEST_CASE("the clock of a launch is that of its long warps, from its first start to its last end") {
  const std::vector<WarpEnds> ends = {{0, 0, 7, 1'000, 3'000, 3'000},
                                      {0, 1, 9, 1'064, 3'064, 3'400},
                                      {0, 1, 9, 1'064, 1'096, 900},  // too short to tell
                                      {1, 0, 7, 5'000, 5'032, 64},
                                      {1, 1, 7, 5'100, 5'132, 64}};
  const std::vector<LaunchClock> clocks = launch_clocks(ends);
  REQUIRE(clocks.size() == 2);
  CHECK(clocks[0].ghz == doctest::Approx(1.6));
  CHECK(clocks[0].nanoseconds == 2'064);
  CHECK(clocks[0].cycles() == doctest::Approx(3302.4));
  CHECK(clocks[0].ctas == 2);
  CHECK(clocks[0].sms == 2);
  CHECK(clocks[1].ghz == doctest::Approx(2));  // none lived for half of the launch
  CHECK(clocks[1].nanoseconds == 132);
  CHECK(clocks[1].sms == 1);
}

TEST_CASE("the profiler's buffer is refused twice, and launches of too many warps altogether") {
  launch::Contract c = stuck_contract();
  ir::Module m = parsed(stuck);
  instrument(m, c);
  CHECK(test::contains(test::error_of([&] { instrument(m, c); }), "/buffers/kiln_profile"));
  c = stuck_contract();
  c.launches[0].grid = {65535, 65535, 1};
  ir::Module n = parsed(stuck);
  CHECK(test::contains(test::error_of([&] { instrument(n, c); }), "too many to profile"));
}

}  // namespace
}  // namespace kiln::harness::profile_tests
