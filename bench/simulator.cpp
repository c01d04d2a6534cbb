// How fast the simulator is: its GEMMs as a part of OpenBLAS's sgemm on one core in the same run, ordinary instructions
// a second, and what the race detector and the judge of tiles cost in time, the former in memory too.
#include <benchmark/benchmark.h>

#include <chrono>
#include <vector>

#include "dsl/entry.hpp"
#include "emit/emit.hpp"
#include "harness/problem/fill.hpp"
#include "ptx/parse/parse.hpp"
#include "sim/core/fanout.hpp"
#include "sim/order/detector.hpp"
#include "sim/simulate.hpp"
#include "sim/tile/judge.hpp"
#include "verifier/verify.hpp"
#ifdef KILN_BENCH_OPENBLAS
#include <cblas-openblas.h>
#endif

namespace {

using namespace kiln;

// FLOP/s of sgemm on one core; 0 without OpenBLAS.
double sgemm_rate() {
#ifdef KILN_BENCH_OPENBLAS
  static const double rate = [] {
    using Clock = std::chrono::steady_clock;
    const auto seconds_since = [](Clock::time_point start) {
      return std::chrono::duration<double>(Clock::now() - start).count();
    };
    openblas_set_num_threads(1);
    const int n = 1024;
    std::vector<float> a(std::size_t(n) * n, 1.5f), b = a, c = a;
    double best = 0;
    for (int k = 0; k < 5; ++k) {
      const auto start = Clock::now();
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n);
      best = std::max(best, 2.0 * n * n * n / seconds_since(start));
    }
    return best;
  }();
  return rate;
#else
  return 0;
#endif
}

struct Problem {
  ir::Module module;
  launch::Contract contract;
};

Problem gemm(const char* name, std::uint64_t size, launch::Init::Kind init) {
  for (const dsl::Entry& e : dsl::kernel_table()) {
    if (e.name != name) continue;
    dsl::Sizes sizes = dsl::standard_sizes(e);
    for (auto& [what, extent] : sizes) extent = size;
    const dsl::Kernel kernel = e.build(e.targets[0], sizes);
    diag::Sink sink;
    const std::string text = emit::emit(*verifier::verify(kernel.module, sink));
    Problem p{parse::parse(std::make_shared<const diag::Source>("kernel.ptx", text), sink), e.problem(kernel, sizes)};
    for (launch::Buffer& b : p.contract.buffers)
      if (b.init.kind == launch::Init::Kind::normal) b.init.kind = init, b.init.low = -8, b.init.high = 8;
    harness::fill(p.contract);
    return p;
  }
  std::abort();
}

enum class Races { off, on, and_tiles };

void simulate(benchmark::State& state, const Problem& p, sim::Arithmetic arithmetic, Races races) {
  sim::Options options;
  options.arithmetic = arithmetic;
  options.detect_races = false;
  double flops = 0, threads = 0;
  std::size_t shadow = 0;
  for (auto _ : state) {
    launch::Contract contract = p.contract;
    diag::Sink sink;
    sim::RaceDetector detector;
    sim::TileJudge tiles;
    sim::Fanout observers({&detector});
    if (races == Races::and_tiles) observers.add(tiles);
    sim::Observer* const observer = races == Races::on ? static_cast<sim::Observer*>(&detector) : &observers;
    const auto r = sim::simulate(p.module, contract, options, sink, races == Races::off ? nullptr : observer);
    if (r.outcome != sim::Outcome::finished || sink.has_errors()) return state.SkipWithError("not clean");
    flops += double(r.statistics.mma_flops);
    threads += double(r.statistics.thread_instructions);
    if (races != Races::off) shadow = detector.shadow_bytes();
  }
  const auto rate = benchmark::Counter::kIsRate;
  if (flops > 0) state.counters["GFLOP/s"] = benchmark::Counter(flops / 1e9, rate);
  if (flops > 0 && sgemm_rate() > 0) state.counters["of_sgemm"] = benchmark::Counter(flops / sgemm_rate(), rate);
  state.counters["Mthread-instr/s"] = benchmark::Counter(threads / 1e6, rate);
  if (races != Races::off) state.counters["shadow_KiB"] = double(shadow) / 1024;
}

// A loop of ordinary arithmetic in 128 threads.
Problem arithmetic_loop() {
  std::string body;
  for (int k = 0; k < 8; ++k)
    body += "fma.rn.f32 %f" + std::to_string(k + 1) + ", %f0, %f9, %f" + std::to_string(k + 1) + ";\n";
  const std::string text =
      ".version 8.7\n.target sm_100a\n.address_size 64\n.entry k() {\n.reg .f32 %f<10>; .reg .u32 %r<8>; "
      ".reg .pred %p;\nmov.u32 %r0, 0; mov.f32 %f0, 0f3F800000; mov.f32 %f9, %f0;\n" +
      [] {
        std::string s;
        for (int k = 1; k < 9; ++k) s += "mov.f32 %f" + std::to_string(k) + ", %f0;\n";
        return s;
      }() +
      "LOOP:\n" + body +
      "mad.lo.u32 %r1, %r0, 7, %r0; shl.b32 %r2, %r1, 3; xor.b32 %r3, %r2, %r1; add.u32 %r0, %r0, 1;\n"
      "setp.lt.u32 %p, %r0, 20000; @%p bra LOOP; ret; }\n";
  diag::Sink sink;
  Problem p{parse::parse(std::make_shared<const diag::Source>("loop.ptx", text), sink), {}};
  launch::Launch l;
  l.entry = "k";
  l.block = {128, 1, 1};
  p.contract.launches = {l};
  return p;
}

const bool registered = [] {
  using sim::Arithmetic;
  const auto add = [](const std::string& name, Problem p, Arithmetic arithmetic, Races races) {
    const auto shared = std::make_shared<const Problem>(std::move(p));
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& s) {
      simulate(s, *shared, arithmetic, races);
    })->Unit(benchmark::kMillisecond);
  };
  for (const char* kernel : {"gemm_bf16_basic", "gemm_bf16"})
    for (const auto& [data, init] :
         {std::pair{"random", launch::Init::Kind::normal}, {"integers", launch::Init::Kind::integers}})
      for (const auto& [what, arithmetic] : {std::pair{"exact", Arithmetic::exact}, {"fast", Arithmetic::fast}})
        for (const auto& [watched, races] :
             {std::pair{"", Races::off}, {"/races", Races::on}, {"/races+tiles", Races::and_tiles}})
          add(std::string(kernel) + "/1024/" + data + "/" + what + watched, gemm(kernel, 1024, init), arithmetic,
              races);
  for (const auto& [what, arithmetic] : {std::pair{"exact", Arithmetic::exact}, {"fast", Arithmetic::fast}})
    add(std::string("gemm_bf16/512/random/") + what, gemm("gemm_bf16", 512, launch::Init::Kind::normal), arithmetic,
        Races::off);
  add("arithmetic", arithmetic_loop(), Arithmetic::exact, Races::off);
  add("arithmetic/races", arithmetic_loop(), Arithmetic::exact, Races::on);
  return true;
}();

}  // namespace
