// What --lint adds to the check that a user runs. CMake makes two programs of this: bench_lint with the table of the
// library, bench_lint_cookbook with that of the cookbook.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench/emitted.hpp"

namespace {

using namespace kiln;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// Whole processes in turn, neither from the cache: the check that a user runs, and the same with --lint. A check that
// finds something stops early: it is no measure.
void lint(benchmark::State& state, const std::string& name, const std::string& ptx) {
  const auto path = std::filesystem::temp_directory_path() / ("kiln_bench_lint_" + name + ".ptx");
  std::ofstream(path) << ptx;
  const std::string check = KILN_COMMAND " check --no-cache ";
  const std::string of = path.string() + " > /dev/null 2>&1";
  std::vector<double> without, with;
  bool failed = false;
  for (auto _ : state) {
    without.push_back(bench::seconds([&] { failed |= std::system((check + of).c_str()) != 0; }));
    with.push_back(bench::seconds([&] { failed |= std::system((check + "--lint " + of).c_str()) != 0; }));
  }
  if (failed) return state.SkipWithError("a check failed");
  state.counters["check ms"] = median(without) * 1e3;
  state.counters["lint ms"] = median(with) * 1e3;
  state.counters["lint / check"] = median(with) / median(without);
}

const bool registered = [] {
  for (const std::string name : {"attention", "gemm_bf16", "gemm_v6", "residual", "block_scaled", "paged_decode"})
    if (const auto ptx = bench::find_emitted(name))
      benchmark::RegisterBenchmark(("lint/" + name).c_str(), lint, name, *ptx)
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime()
          ->Iterations(3);
  return true;
}();

}  // namespace
