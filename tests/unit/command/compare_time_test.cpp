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

}  // namespace
}  // namespace kiln::command::compare_time_test
