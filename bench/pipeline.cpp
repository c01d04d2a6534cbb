// How long Kiln's own stages take for each kernel of the table, and how fast the simulator runs them.
#include <benchmark/benchmark.h>

#include "dsl/entry.hpp"
#include "emit/emit.hpp"
#include "harness/problem/fill.hpp"
#include "ptx/parse/parse.hpp"
#include "sim/simulate.hpp"
#include "verifier/verify.hpp"

namespace {

using namespace kiln;

std::string emitted(const dsl::Entry& e) {
  diag::Sink sink;
  return emit::emit(*verifier::verify(e.build(e.targets[0], dsl::standard_sizes(e)).module, sink));
}

void build_verify_emit(benchmark::State& state, const dsl::Entry& e) {
  for (auto _ : state) benchmark::DoNotOptimize(emitted(e));
}

void parse(benchmark::State& state, const dsl::Entry& e) {
  const auto source = std::make_shared<const diag::Source>(std::string(e.name), emitted(e));
  for (auto _ : state) {
    diag::Sink sink;
    benchmark::DoNotOptimize(parse::parse(source, sink));
  }
  state.SetBytesProcessed(std::int64_t(source->text().size()) * state.iterations());
}

void simulate(benchmark::State& state, const dsl::Entry& e, sim::Arithmetic arithmetic) {
  const dsl::Sizes sizes = dsl::standard_sizes(e);
  const dsl::Kernel kernel = e.build(e.targets[0], sizes);
  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<const diag::Source>("kernel.ptx", emitted(e)), sink);
  launch::Contract filled = e.problem(kernel, sizes);
  harness::fill(filled);
  sim::Options options;
  options.arithmetic = arithmetic;
  double flops = 0, threads = 0;
  for (auto _ : state) {
    launch::Contract contract = filled;
    const sim::Result r = sim::simulate(module, contract, options, sink);
    if (r.outcome != sim::Outcome::finished) return state.SkipWithError("the simulation did not finish");
    flops += double(r.statistics.mma_flops);
    threads += double(r.statistics.thread_instructions);
  }
  state.counters["MMA FLOP/s"] = benchmark::Counter(flops, benchmark::Counter::kIsRate);
  state.counters["thread-instructions/s"] = benchmark::Counter(threads, benchmark::Counter::kIsRate);
}

const bool registered = [] {
  for (const dsl::Entry& e : dsl::kernel_table()) {
    const std::string name(e.name);
    const auto ms = benchmark::kMillisecond;
    benchmark::RegisterBenchmark(("build_verify_emit/" + name).c_str(), build_verify_emit, e)->Unit(ms);
    benchmark::RegisterBenchmark(("parse/" + name).c_str(), parse, e)->Unit(ms);
    benchmark::RegisterBenchmark(("simulate_exact/" + name).c_str(), simulate, e, sim::Arithmetic::exact)->Unit(ms);
    benchmark::RegisterBenchmark(("simulate_fast/" + name).c_str(), simulate, e, sim::Arithmetic::fast)->Unit(ms);
  }
  return true;
}();

}  // namespace
