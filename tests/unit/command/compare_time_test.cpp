// A prediction beside a measurement that was made up.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "harness/contract/contract_json.hpp"
#include "harness/host/files.hpp"
#include "ptx/diag/error.hpp"
#include "tools/command/compare_time.hpp"

namespace kiln::command::compare_time_test {
namespace {

const std::string inputs = std::string(KILN_SOURCE_DIR) + "/lit/command/Inputs/";

std::string text_of(const std::string& path) {
  const auto bytes = harness::read_file(path);
  return {bytes.begin(), bytes.end()};
}

ComparedTime compared(const std::string& device, double milliseconds, const std::string& chip = {}) {
  harness::RunReport report;
  report.cuda.emplace();
  report.cuda->device = device;
  harness::Timing& t = report.cuda->timing.emplace();
  t.times.milliseconds = {milliseconds};
  t.state.sm_mhz = 1500;
  const auto ptx = std::make_shared<const diag::Source>("copy.ptx", text_of(inputs + "copy.ptx"));
  return compare_time(report, ptx, harness::read_contract(text_of(inputs + "copy.json"), "copy.json"), inputs, chip);
}

TEST_CASE("a prediction stands beside the median, in time and in cycles at the clock that was seen") {
  const ComparedTime c = compared("NVIDIA H100 80GB HBM3", 0.015);
  CHECK(c.chip == "NVIDIA H100 SXM");
  CHECK(c.measured_us == doctest::Approx(15));
  CHECK(c.measured_cycles == doctest::Approx((15 - c.launch_us) * 1500));
  CHECK(c.least_us <= c.predicted_us);
  CHECK(c.predicted_us <= c.most_us);
  CHECK(c.predicted_us == doctest::Approx(c.cycles / c.clock * 1e-3));
  CHECK(compared_text(c).find("predicted on NVIDIA H100 SXM: ") == 0);
  const auto j = nlohmann::json::parse(with_comparison(R"({"verdict": "pass"})", c));
  CHECK(j["verdict"] == "pass");
  CHECK(j["compared_time"]["measured_us"] == doctest::Approx(15));
}

TEST_CASE("the chip is that of the GPU's name, or the one that is given") {
  CHECK(compared("NVIDIA H200", 1).chip == "NVIDIA H200 SXM");
  CHECK(compared("NVIDIA H200", 1, "h100").chip == "NVIDIA H100 SXM");
  CHECK_THROWS_WITH_AS(
      compared("NVIDIA L4", 1),
      "--compare-time: no chip file is for NVIDIA L4; give one with --chip (kiln time --calibrate writes "
      "it)",
      diag::InputError);
}

// One CTA of two warps as a GPU recorded it, in microseconds: warp 0 waits 30 of 100, warp 1 20 and then 40.
constexpr const char* recorded = R"({"traceEvents": [
  {"ph": "M", "pid": 0, "name": "process_name"},
  {"ph": "X", "pid": 0, "tid": 0, "ts": 0, "dur": 30, "name": "WaitMMA",
   "args": {"role": "load", "mbarrier": "in_empty[1]"}},
  {"ph": "X", "pid": 0, "tid": 0, "ts": 30, "dur": 70, "name": "IssueTMA",
   "args": {"role": "load"}},
  {"ph": "X", "pid": 0, "tid": 1, "ts": 0, "dur": 20, "name": "WaitTMA",
   "args": {"role": "mma", "mbarrier": "in_full[0]"}},
  {"ph": "X", "pid": 0, "tid": 1, "ts": 20, "dur": 40, "name": "WaitTMA",
   "args": {"role": "mma", "mbarrier": "in_full[1]"}}]})";
constexpr const char* foretold = R"({"traceEvents": [
  {"ph": "X", "pid": 3, "tid": 0, "ts": 500, "dur": 100, "name": "WaitMMA",
   "args": {"role": "load", "mbarrier": "in_empty[0]"}},
  {"ph": "X", "pid": 3, "tid": 0, "ts": 600, "dur": 300, "name": "IssueTMA",
   "args": {"role": "load"}}]})";

TEST_CASE("the waits of a recorded profile stand beside those of a predicted one, by role and mbarrier") {
  const std::vector<RoleWait> waits = role_waits(recorded, foretold);
  REQUIRE(waits.size() == 2);
  CHECK(waits[0].role == "load");
  CHECK(waits[0].mbarrier == "in_empty");
  CHECK(waits[0].measured == doctest::Approx(30));
  CHECK(waits[0].predicted == doctest::Approx(25));
  CHECK(waits[1].measured == doctest::Approx(60));
  CHECK(waits[1].predicted == 0);
  const std::string text = waits_text(waits);
  CHECK(text.find("load, in_empty") != std::string::npos);
  CHECK(text.find("1 of 2 are within 10 points") != std::string::npos);
  const auto j = nlohmann::json::parse(with_waits(R"({"verdict": "pass"})", waits));
  CHECK(j["verdict"] == "pass");
  CHECK(j["role_waits"][1]["measured_percent"] == doctest::Approx(60));
  CHECK_THROWS_AS(role_waits("{}", foretold), diag::InputError);
}

TEST_CASE("a kernel's recorded waits are compared with what its chip predicts") {
  harness::RunReport report;
  report.cuda.emplace();
  report.cuda->device = "NVIDIA H100 80GB HBM3";
  const auto ptx = std::make_shared<const diag::Source>("copy.ptx", text_of(inputs + "copy.ptx"));
  const auto contract = harness::read_contract(text_of(inputs + "copy.json"), "copy.json");
  const auto waits = compare_waits(report, recorded, ptx, contract, inputs, "");
  REQUIRE(waits.size() == 2);  // a copy has no roles
  CHECK(waits[0].predicted == 0);
}

}  // namespace
}  // namespace kiln::command::compare_time_test
