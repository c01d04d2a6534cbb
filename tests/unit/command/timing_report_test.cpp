// What a timed run prints, from a report as a GPU would have left it.
#include "tools/command/json.hpp"
#include "tools/command/report/timing_text.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace kiln;
using namespace kiln::command;

namespace {

harness::RunReport timed() {
  harness::RunReport report;
  harness::Timing t;
  t.options = {3, 1, harness::Beside::cublas};
  t.times.milliseconds = {2, 1, 4};
  t.rotation = {2, 0};
  t.copy_bytes = 1 << 20, t.l2_bytes = 60 << 20;
  t.state = {"580.1", 1755, 1980, 3201, 640, 700};
  t.cublas = harness::CublasTiming{"libcublasLt.so.13 13.1.0", "bf16 * bf16 -> bf16, f32 sums", 8, {{1, 1, 1}}, {}};
  report.cuda = harness::CudaResult{};
  report.cuda->device = "NVIDIA H200", report.cuda->architecture = "sm_90";
  report.cuda->driver = "580.1", report.cuda->cuda_version = 13010;
  report.cuda->timing = t;
  report.work = harness::Work{1e12, 0, "2 * M * N * K", "M=1 N=2 K=3"};
  harness::Comparison c;
  c.pass = true, c.elements = 4096, c.whole = 67108864, c.error = 0.25, c.bound = 0.5;
  report.comparisons = {c};
  return report;
}

RunFacts facts() {
  RunFacts f;
  f.name = "gemm", f.sizes = "m=8 n=8 k=8";
  return f;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a timed gemm is a row of a table: times, speed, cuBLAS's, ratio, error") {
  const std::string text = timing_text(facts(), timed());
  CHECK(contains(
      text, "| gemm | m=8 n=8 k=8 | 2 | 1 to 4 | 500 | 1000 | 0.500 | 0.25 | 0.5 (4,096 of 67,108,864 elements) |"));
  CHECK(contains(text, "| kernel | sizes | median ms | least to most | TFLOP/s | cuBLAS | ratio | error | allowed |"));
}

TEST_CASE("the text says on what, how and against what it was measured") {
  const std::string text = timing_text(facts(), timed());
  CHECK(contains(text,
                 "NVIDIA H200 (sm_90), driver 580.1, CUDA 13.1; SM 1755 of 1980 MHz, memory 3201 MHz, 640 of 700 W"));
  CHECK(contains(text, "median of 3 repetitions after 1 by CUDA events; 2 copies of 1 MiB in turn, L2 of 60 MiB"));
  CHECK(contains(text, "libcublasLt.so.13 13.1.0, bf16 * bf16 -> bf16, f32 sums, fastest of 8 algorithms"));
  CHECK(contains(text, "2 * M * N * K"));
}

TEST_CASE("clocks inside the launches are a line of the text and rows of the JSON") {
  harness::RunReport report = timed();
  CHECK(!contains(timing_text(facts(), report), "clocks inside"));
  harness::Timing& t = *report.cuda->timing;
  t.options.clocks = true;
  t.options.l2 = harness::L2State::warm;
  t.clocks = {{0, 1.5, 2000, 8, 4}, {1, 1.9, 100, 8, 4}, {0, 1.7, 2000, 8, 4}, {0, 1.6, 2000, 8, 4}};
  const std::string text = timing_text(facts(), report);
  CHECK(contains(text, "1.6 GHz (1.5 to 1.7) by clocks inside the first launch, 3200 cycles on 4 SMs"));
  CHECK(contains(text, "L2 of 60 MiB, which holds what the repetition before left"));
  const auto json = timing_json(report);
  CHECK(json["l2"] == "warm");
  REQUIRE(json["launch_clocks"].size() == 4);
  CHECK(json["launch_clocks"][1]["launch"] == 2);
  CHECK(json["launch_clocks"][0]["cycles"] == 3000);
}

TEST_CASE("where there is no cuBLAS the table has no ratio, and one line says why") {
  harness::RunReport report = timed();
  report.cuda->timing->cublas.reset();
  report.cuda->timing->no_cublas = "no cublasLt here";
  const std::string text = timing_text(facts(), report);
  CHECK(contains(text, "not measured: no cublasLt here"));
  CHECK(contains(text, "| 500 |  |  | 0.25 |"));
  const auto json = timing_json(report);
  CHECK(json["cublas"]["measured"] == false);
  CHECK(!json.contains("ratio"));
}

TEST_CASE("a wrong result is marked in its row, and sizes come from the contract if none were given") {
  harness::RunReport report = timed();
  report.comparisons[0].pass = false;
  RunFacts f = facts();
  f.sizes.clear();
  CHECK(contains(timing_text(f, report), "| gemm | M=1 N=2 K=3 | 2 | 1 to 4 | 500 | 1000 | 0.500 | WRONG: 0.25 |"));
}

TEST_CASE("a copy has a bandwidth instead") {
  harness::RunReport report = timed();
  report.work = harness::Work{0, 4e9, "bytes read and written", {}};
  report.comparisons[0].expectation.kind = launch::Expectation::Kind::copy;
  const std::string text = timing_text(facts(), report);
  CHECK(contains(text, "| GB/s |"));
  CHECK(contains(text, "| 2000 |  |  | 0 elements | 0 |"));
}

TEST_CASE("restored buffers and what fills the L2 are told") {
  harness::RunReport report = timed();
  report.cuda->timing->restored = {"counter", "W"};
  report.cuda->timing->rotation = {1, 120 << 20};
  const std::string text = timing_text(facts(), report);
  CHECK(contains(
      text, "1 copy of 1 MiB in turn, L2 of 60 MiB, 120 MiB written in between; restored before each: counter, W"));
}

TEST_CASE("JSON has every figure of the text") {
  const auto j = timing_json(timed());
  CHECK(j["median_ms"] == 2);
  CHECK(j["min_ms"] == 1);
  CHECK(j["max_ms"] == 4);
  CHECK(j["all_ms"].size() == 3);
  CHECK(j["tflops"] == doctest::Approx(500));
  CHECK(j["cublas"]["tflops"] == doctest::Approx(1000));
  CHECK(j["ratio"] == doctest::Approx(0.5));
  CHECK(j["clocks"]["sm_mhz"] == 1755);
  CHECK(j["copies"] == 2);
  CHECK(j["counted"] == "2 * M * N * K");
}

TEST_CASE("a run that was not timed has no table") {
  harness::RunReport report = timed();
  report.cuda->timing.reset();
  CHECK(timing_text(facts(), report).empty());
  CHECK(timing_json(report).is_null());
}
