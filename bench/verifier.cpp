// The static verifier's time: its rules beside ptxas on the same file, and the exploration of a kernel's protocol.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/emitted.hpp"
#include "bench/unrolled.hpp"
#include "harness/host/files.hpp"
#include "ptx/parse/parse.hpp"
#include "verifier/explore/explore.hpp"
#include "verifier/verify.hpp"

namespace {

using namespace kiln;

std::string file(const std::string& path) {
  const auto bytes = harness::read_file(KILN_SOURCE_DIR "/" + path);
  return {bytes.begin(), bytes.end()};
}

std::string without_lines(const std::string& ptx) {
  return std::regex_replace(ptx, std::regex("\n *\\.(loc|file) [^\n]*"), "");
}

ir::Module parsed(const std::string& ptx) {
  diag::Sink sink;
  return parse::parse(std::make_shared<const diag::Source>("kernel.ptx", ptx), sink);
}

// The rules alone, without exploring.
void check_rules(const ir::Module& module, diag::Sink& sink) { verifier::check(module, sink); }

// Both in turn, so that what else the machine does hits both. The counters: what a ptxas process takes, what of that is
// not its start (an empty module), and the shares that Kiln takes of both.
void against_ptxas(benchmark::State& state, const std::string& name, const std::string& ptx) {
  const auto path = std::filesystem::temp_directory_path() / ("kiln_bench_" + name + ".ptx");
  const auto empty = std::filesystem::temp_directory_path() / "kiln_bench_empty.ptx";
  std::ofstream(path) << ptx;
  std::smatch target;
  std::regex_search(ptx, target, std::regex(R"(\.target (sm_\w+))"));
  std::ofstream(empty) << ".version 8.6\n.target " << target[1] << "\n.address_size 64\n";
  const std::string assemble = "ptxas -arch=" + target[1].str() + " -o /dev/null ";
  const std::string check = KILN_COMMAND " check --quick " + path.string() + " > /dev/null 2>&1";
  double least_ptxas = 1e9, least_start = 1e9, least_kiln = 1e9, least_check = 1e9;
  bool failed = false;
  for (auto _ : state) {
    least_ptxas =
        std::min(least_ptxas, bench::seconds([&] { failed |= std::system((assemble + path.string()).c_str()) != 0; }));
    least_start =
        std::min(least_start, bench::seconds([&] { failed |= std::system((assemble + empty.string()).c_str()) != 0; }));
    least_kiln = std::min(least_kiln, bench::seconds([&] { failed |= std::system(check.c_str()) < 0; }));
    least_check = std::min(least_check, bench::seconds([&] {
                             diag::Sink sink;
                             check_rules(parsed(ptx), sink);
                           }));
  }
  if (failed) return state.SkipWithError("a process failed; is ptxas in the PATH?");
  state.counters["ptxas ms"] = least_ptxas * 1e3;
  state.counters["kiln ms"] = least_kiln * 1e3;
  state.counters["% of ptxas"] = 100 * least_kiln / least_ptxas;
  state.counters["in process ms"] = least_check * 1e3;
  state.counters["in process, % of ptxas without its start"] = 100 * least_check / (least_ptxas - least_start);
}

void parse(benchmark::State& state, const std::string& ptx) {
  for (auto _ : state) benchmark::DoNotOptimize(parsed(ptx));
}

void rules(benchmark::State& state, const std::string& ptx) {
  const ir::Module module = parsed(ptx);
  for (auto _ : state) {
    diag::Sink sink;
    check_rules(module, sink);
  }
  state.counters["instructions"] = double(bench::instructions_of(ptx));
}

// Every entry function of the text, facts included.
void explore(benchmark::State& state, const std::string& ptx) {
  const ir::Module module = parsed(ptx);
  double states = 0, steps = 0;
  bool complete = true;
  for (auto _ : state)
    for (const ir::Item& item : module.items)
      if (const auto* f = std::get_if<ir::Function>(&item); f && f->body && f->entry) {
        diag::Sink sink;
        const verifier::Facts facts(module, *f, sink);
        const auto e = verifier::explore::explore(verifier::explore::Program(facts));
        states += double(e.states), steps += double(e.steps), complete &= e.complete;
      }
  state.counters["instructions"] = double(bench::instructions_of(ptx));
  state.counters["states"] = benchmark::Counter(states, benchmark::Counter::kAvgIterations);
  state.counters["steps"] = benchmark::Counter(steps, benchmark::Counter::kAvgIterations);
  state.counters["complete"] = complete;
  if (!complete) state.SetLabel("incomplete");
}

void add(const std::string& name, const std::string& ptx) {
  const auto ms = benchmark::kMillisecond;
  benchmark::RegisterBenchmark(("against_ptxas/" + name).c_str(), against_ptxas, name, ptx)
      ->Unit(ms)
      ->UseRealTime()
      ->Iterations(10);
  benchmark::RegisterBenchmark(("parse/" + name).c_str(), parse, ptx)->Unit(ms);
  benchmark::RegisterBenchmark(("rules/" + name).c_str(), rules, ptx)->Unit(ms);
  benchmark::RegisterBenchmark(("explore/" + name).c_str(), explore, ptx)->Unit(ms);
}

const bool registered = [] {
  const std::string gemm = without_lines(bench::emitted("gemm_bf16"));
  add("gemm_bf16", gemm);
  for (const char* name : {"gemm_bf16_pipelined", "gemm_bf16_cluster", "gemm_block_scaled", "attention_chain"})
    for (const std::string prefix : {"", "clang_"}) add(prefix + name, file("tests/interop/" + prefix + name + ".ptx"));
  add("bugs_gemm_block_scaled", file("tests/interop/bugs_gemm_block_scaled.ptx"));  // the largest in bytes
  add("gpu_mbarrier", file("tests/gpu/cases/mbarrier.ptx"));                        // in instructions
  add("gemm_bf16_5000", bench::large_gemm(gemm, 5000));
  return true;
}();

}  // namespace
