// The static verifier's time: its rules beside ptxas on the same file, the exploration of a kernel's protocol, and what
// --lint adds to the check.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "bench/unrolled.hpp"
#include "dsl/entry.hpp"
#include "emit/emit.hpp"
#include "examples/cookbook/cookbook.hpp"
#include "harness/host/files.hpp"
#include "ptx/parse/parse.hpp"
#include "verifier/explore/explore.hpp"
#include "verifier/verify.hpp"

namespace {

using namespace kiln;

std::string emitted(const dsl::Entry& e) {
  diag::Sink sink;
  return emit::emit(*verifier::verify(e.build(e.targets[0], dsl::standard_sizes(e)).module, sink));
}

std::string emitted(std::string_view name) {
  for (const dsl::Entry& e : dsl::kernel_table())
    if (e.name == name) return emitted(e);
  throw diag::InputError("no kernel " + std::string(name));
}

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

double seconds(const auto& what) {
  const auto start = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

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
        std::min(least_ptxas, seconds([&] { failed |= std::system((assemble + path.string()).c_str()) != 0; }));
    least_start =
        std::min(least_start, seconds([&] { failed |= std::system((assemble + empty.string()).c_str()) != 0; }));
    least_kiln = std::min(least_kiln, seconds([&] { failed |= std::system(check.c_str()) < 0; }));
    least_check = std::min(least_check, seconds([&] {
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
    without.push_back(seconds([&] { failed |= std::system((check + of).c_str()) != 0; }));
    with.push_back(seconds([&] { failed |= std::system((check + "--lint " + of).c_str()) != 0; }));
  }
  if (failed) return state.SkipWithError("a check failed");
  state.counters["check ms"] = median(without) * 1e3;
  state.counters["lint ms"] = median(with) * 1e3;
  state.counters["lint / check"] = median(with) / median(without);
}

void add_lint(const std::string& name, const std::string& ptx) {
  benchmark::RegisterBenchmark(("lint/" + name).c_str(), lint, name, ptx)
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime()
      ->Iterations(3);
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
  const std::string gemm = without_lines(emitted("gemm_bf16"));
  add("gemm_bf16", gemm);
  for (const char* name : {"gemm_bf16_pipelined", "gemm_bf16_cluster", "gemm_block_scaled", "attention_chain"})
    for (const std::string prefix : {"", "clang_"}) add(prefix + name, file("tests/interop/" + prefix + name + ".ptx"));
  add("bugs_gemm_block_scaled", file("tests/interop/bugs_gemm_block_scaled.ptx"));  // the largest in bytes
  add("gpu_mbarrier", file("tests/gpu/cases/mbarrier.ptx"));                        // in instructions
  add("gemm_bf16_5000", bench::large_gemm(gemm, 5000));
  for (const char* name : {"attention", "gemm_bf16", "gemm_v6"}) add_lint(name, emitted(name));
  static constexpr std::array targets{dsl::sm_100a};
  using namespace cookbook;
  for (const dsl::Entry& e :
       {dsl::Entry{"residual", "", targets, residual_options(), residual, residual_problem},
        dsl::Entry{"block_scaled", "", targets, block_scaled_options(), block_scaled, block_scaled_problem},
        dsl::Entry{"paged_decode", "", targets, paged_decode_options(), paged_decode, paged_decode_problem}})
    add_lint(std::string(e.name), emitted(e));
  return true;
}();

}  // namespace
