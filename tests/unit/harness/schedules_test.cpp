// Many schedules of one problem, spread, merged, saved and shrunk.
#include <doctest/doctest.h>

#include "harness/contract/contract_json.hpp"
#include "harness/schedules/schedule_file.hpp"
#include "harness/schedules/schedules.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/parse/parse.hpp"

namespace harness_schedules {

using namespace kiln;
using namespace kiln::harness;

namespace {

// A problem of the lit suite. glimpse: warp 1 must not see the flag that warp 0 shows for a moment; two-locks: taken in
// opposite order.
struct Problem {
  std::string path{};
  diag::SourcePtr source = diag::Source::read(path + ".ptx");
  diag::Sink sink{};
  ir::Module module = parse::parse(source, sink);
  launch::Contract contract = read_contract_file(path + ".json");
  SchedulesPlan plan{};

  explicit Problem(const std::string& name = "glimpse", sim::Strategy strategy = sim::Strategy::pct)
      : path(KILN_SOURCE_DIR "/lit/command/Inputs/" + name) {
    plan.name = name;
    plan.options.simulation.strategy = strategy;
  }
  SchedulesReport run(std::uint64_t first, std::uint64_t count, unsigned jobs = 1) {
    plan.first_seed = first, plan.count = count, plan.jobs = jobs;
    return run_schedules(module, source, contract, plan);
  }
};

std::size_t decisions(const sim::schedule::Recording& r) {
  std::size_t n = 0;
  for (const auto& c : r.clusters) n += c.decisions.size();
  return n;
}

}  // namespace

TEST_CASE("one process and four give the same report") {
  Problem p;
  const std::string one = schedules_json(p.run(1, 1500, 1)), four = schedules_json(p.run(1, 1500, 4));
  CHECK(one == four);
  CHECK(one.find("trap-reached") != std::string::npos);
}

TEST_CASE("parts merge to the whole in any order, and no seed counts twice") {
  Problem p;
  const SchedulesReport whole = p.run(1, 60), a = p.run(1, 25), b = p.run(26, 35);
  SchedulesReport ab = a, ba = b;
  ab.merge(b);
  ba.merge(a);
  CHECK(schedules_json(ab) == schedules_json(whole));
  CHECK(schedules_json(ba) == schedules_json(whole));
  CHECK_THROWS_WITH_AS(ab.merge(a), "seed 1 is in more than one result", diag::InputError);
  SchedulesReport other = p.run(100, 1);
  other.name = "another";
  CHECK_THROWS_AS(ab.merge(other), diag::InputError);
}

TEST_CASE("a report survives its JSON") {
  Problem p;
  const SchedulesReport r = p.run(1, 1500);
  REQUIRE(r.first_bad != 0);
  CHECK(schedules_json(parse_schedules(schedules_json(r), "x", p.source)) == schedules_json(r));
  CHECK_THROWS_AS(parse_schedules("{}", "x", nullptr), diag::InputError);
  CHECK_THROWS_AS(parse_schedules(R"({"kiln_schedules": 1})", "x", nullptr), diag::InputError);
  CHECK_THROWS_AS(parse_schedules(R"({"kiln_schedules": 2})", "x", nullptr), diag::InputError);
}

// Shrinks the first bad schedule and follows what is left of it out of its file; returns how many decisions there were.
std::size_t check_shrinking(Problem p) {
  const SchedulesReport r = p.run(1, 1500);
  REQUIRE(r.first_bad != 0);
  sim::schedule::Recording recording;
  run_schedule(p.module, p.contract, p.plan, r.first_bad, &recording);
  const sim::schedule::Recording small = shrink(p.module, p.contract, p.plan, r.first_bad, recording);
  CHECK(decisions(small) <= 10);
  const ScheduleFile file = parse_schedule(schedule_text({r.first_bad, small}, *p.source, p.contract), "x");
  CHECK(file.seed == r.first_bad);
  p.plan.options.simulation.replay = &file.recording;
  const RunReport again = run_schedule(p.module, p.contract, p.plan, r.first_bad, nullptr);
  REQUIRE(again.findings.all().size() == 1);
  CHECK(again.findings.all()[0].slug == r.findings[0].finding.slug);
  CHECK(again.findings.all()[0].where.place.begin == r.findings[0].finding.where.place.begin);
  return decisions(recording);
}

TEST_CASE("a schedule with an error shrinks to at most ten decisions with the same finding, and survives its file") {
  check_shrinking(Problem());
  CHECK(check_shrinking(Problem("two-locks", sim::Strategy::random)) > 200);
}

}  // namespace harness_schedules
