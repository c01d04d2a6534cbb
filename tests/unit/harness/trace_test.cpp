// The trace of a whole kernel, read back from the file.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/host/files.hpp"
#include "harness/pipeline/pipeline.hpp"
#include "harness/run/run.hpp"
#include "kernels/gemm.hpp"

namespace harness_trace {

using namespace kiln;
using Json = nlohmann::json;

namespace {

struct Traced {
  harness::RunReport report{};
  Json document{};

  std::vector<Json> events(const std::string& phase) const {
    std::vector<Json> out;
    for (const Json& e : document.at("traceEvents"))
      if (e.at("ph") == phase) out.push_back(e);
    return out;
  }
};

using Build = dsl::Kernel (*)(isa::Target, const dsl::Sizes&);
using Problem = launch::Contract (*)(const dsl::Kernel&, const dsl::Sizes&);

Traced traced(Build build, Problem problem, std::uint64_t seed = 1, const char* leave_out = nullptr) {
  const dsl::Sizes sizes{{"m", 256}, {"n", 512}, {"k", 320}};
  dsl::Kernel kernel = build(isa::sm_100a, sizes);
  launch::Contract contract = problem(kernel, sizes);
  harness::TemporaryFolder folder;
  harness::RunOptions options;
  options.simulation.seed = seed;
  options.views.trace = folder.file("trace.json");
  Traced t;
  if (!leave_out) {
    t.report = harness::run_module(std::move(kernel.module), kernel.name, contract, options);
  } else {
    diag::Sink sink;
    std::string text(harness::emit_verified(std::move(kernel.module), "k.ptx", sink)->text());
    const std::size_t at = text.find(leave_out);
    REQUIRE(at != std::string::npos);
    text.replace(at, text.find(';', at) + 1 - at, "");
    t.report = harness::run_text(std::make_shared<const diag::Source>("k.ptx", text), contract, options);
  }
  const auto bytes = harness::read_file(options.views.trace);
  t.document = Json::parse(bytes.begin(), bytes.end());
  return t;
}

std::pair<int, int> track_of(const Json& e) { return {e.at("pid").get<int>(), e.at("tid").get<int>()}; }

// Every slice in its track's order, one after the other, on a track with a name.
void check_slices(const Traced& t) {
  std::set<std::pair<int, int>> named;
  for (const Json& e : t.events("M"))
    if (e.at("name") == "thread_name") named.insert(track_of(e));
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> tracks;
  for (const Json& e : t.events("X")) {
    CHECK(e.at("dur").get<std::int64_t>() > 0);
    const auto begin = e.at("ts").get<std::int64_t>();
    tracks[track_of(e)].push_back({begin, begin + e.at("dur").get<std::int64_t>()});
  }
  for (auto& [track, slices] : tracks) {
    CHECK(named.count(track) == 1);
    std::sort(slices.begin(), slices.end());
    for (std::size_t k = 1; k < slices.size(); ++k) CHECK(slices[k - 1].second <= slices[k].first);
  }
}

// One begin and one end, not before it, for each id.
void check_spans(const Traced& t) {
  std::map<std::int64_t, std::pair<std::int64_t, int>> open;
  const auto id_of = [](const Json& e) { return e.at("id").get<std::int64_t>(); };
  for (const Json& e : t.events("b"))
    CHECK(open.emplace(id_of(e), std::pair{e.at("ts").get<std::int64_t>(), 0}).second);
  for (const Json& e : t.events("e")) {
    REQUIRE(open.count(id_of(e)) == 1);
    auto& [begin, ends] = open[id_of(e)];
    CHECK(begin <= e.at("ts").get<std::int64_t>());
    ++ends;
  }
  for (const auto& [id, state] : open) CHECK(state.second == 1);
}

std::int64_t tma_bytes(const Traced& t) {
  std::int64_t sum = 0;
  for (const Json& e : t.events("b"))
    if (e.at("cat") == "tma") sum += e.at("args").at("bytes").get<std::int64_t>();
  return sum;
}

}  // namespace

TEST_CASE("every begin of a trace has an end, slices of a track do not overlap, and its bytes are the statistics'") {
  for (const std::uint64_t seed : {1, 2, 3})
    for (const auto& [build, problem] : {std::pair<Build, Problem>{kernels::gemm_bf16, kernels::gemm_bf16_problem},
                                         {kernels::gemm_bf16_basic, kernels::gemm_bf16_basic_problem}}) {
      const Traced t = traced(build, problem, seed);
      REQUIRE(t.report.exit_code() == 0);
      check_slices(t);
      check_spans(t);
      const sim::Statistics& s = t.report.simulation->statistics;
      CHECK(tma_bytes(t) == std::int64_t(s.tma_bytes));
      std::uint64_t mmas = 0, instructions = 0;
      for (const Json& e : t.events("X")) {
        const bool unit = e.at("args").contains("queued for ticks");
        mmas += unit && e.at("name") == "mma";
        instructions += e.at("args").value("instructions", std::uint64_t{0});
      }
      CHECK(mmas == s.mma_instructions);
      CHECK(instructions <= s.warp_instructions);  // those whose guard is false for all lanes are not told
      CHECK(instructions > s.warp_instructions * 9 / 10);
      CHECK(t.report.written.size() == 1);
    }
}

TEST_CASE("a trace names roles, waits, barriers, coordinates and its clock") {
  const Traced t = traced(kernels::gemm_bf16, kernels::gemm_bf16_problem);
  std::set<std::string> names, tracks;
  for (const Json& e : t.events("X")) names.insert(e.at("name"));
  for (const Json& e : t.events("M"))
    if (e.at("name") == "thread_name" && e.at("pid") == 0) tracks.insert(e.at("args").at("name"));
  for (const char* name : {"mma", "load", "store", "wait in_full[2]", "wait done", "phase 1", "commit"})
    CHECK_MESSAGE(names.count(name) == 1, name);
  for (const char* track : {"warp 0: store", "warp 4: load", "warp 5: mma", "tensor core", "mbarrier in_empty[3]"})
    CHECK_MESSAGE(tracks.count(track) == 1, track);
  std::set<std::string> places;
  for (const Json& e : t.events("b"))
    if (e.at("name") == "load A" && e.at("pid") == 0) places.insert(e.at("args").at("coordinates"));
  CHECK(places == std::set<std::string>{"0, 0", "64, 0", "128, 0", "192, 0", "256, 0"});
  CHECK(t.document.at("otherData").at("clock").get<std::string>().find("ticks, not time") != std::string::npos);
}

TEST_CASE("a barrier's counters end at what a phase begins with") {
  const Traced t = traced(kernels::gemm_bf16, kernels::gemm_bf16_problem);
  std::map<std::string, Json> last;
  std::int64_t most = 0;
  for (const Json& e : t.events("C")) {
    if (e.at("pid") != 0) continue;
    last[e.at("name")] = e.at("args");
    if (e.at("name") == "in_full[0]") most = std::max(most, e.at("args").at("tx bytes").get<std::int64_t>());
  }
  CHECK(most == 128 * 64 * 2 + 256 * 64 * 2);
  for (int k = 0; k < 4; ++k)
    CHECK(last.at("in_full[" + std::to_string(k) + "]") == Json{{"pending arrivals", 1}, {"tx bytes", 0}});
  CHECK(last.at("tensor memory") == Json{{"allocated columns", 0}});
}

TEST_CASE("what never ends is closed in the trace and called unfinished") {
  const Traced t = traced(kernels::gemm_bf16, kernels::gemm_bf16_problem, 1, "tcgen05.commit");
  CHECK(t.report.simulation->outcome == sim::Outcome::deadlock);
  check_slices(t);
  check_spans(t);
  int unfinished = 0;
  for (const Json& e : t.events("b")) unfinished += e.at("args").contains("unfinished");
  CHECK(unfinished == 1);  // the allocation
}

}  // namespace harness_trace
