// GFLOP/s of the MMA kernel on one core: bit-exact on random normal data, where plain f32 is proven exact, and in fast
// mode. The shape is one 128 x 256 tile over K = 64, as four bf16 instructions; A and B are decoded anew in every call.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "ptx/num/gemm_kernel.hpp"

namespace {

using namespace kiln::num;

enum class Data { normal, integers };

struct Problem {
  int m = 128, n = 256, k = 64;
  std::vector<std::uint16_t> a, b;
  std::vector<std::uint32_t> d;
};

Problem make(Data data, ScalarType type, int k) {
  Problem p;
  p.k = k;
  std::mt19937 random(1);
  std::normal_distribution<> normal;
  const auto draw = [&] {
    const double value = data == Data::normal ? normal(random) : static_cast<double>(random() % 9) - 4;
    return static_cast<std::uint16_t>(encode(type, value));
  };
  p.a.resize(static_cast<std::size_t>(p.m * p.k));
  p.b.resize(static_cast<std::size_t>(p.n * p.k));
  for (auto& word : p.a) word = draw();
  for (auto& word : p.b) word = draw();
  p.d.assign(static_cast<std::size_t>(p.m * p.n), 0);
  return p;
}

void multiply(benchmark::State& state, Data data, ScalarType type, Arithmetic arithmetic, VectorUnit unit, int k) {
  Problem p = make(data, type, k);
  GemmKernel kernel(unit);
  if (unit != VectorUnit::automatic && kernel.unit() != unit)
    return state.SkipWithError("this processor lacks the vector unit");
  GemmTask task{
      .spec = {.a = type, .b = type}, .m = p.m, .n = p.n, .k = p.k, .d = p.d.data(), .arithmetic = arithmetic};
  task.a = {.elements = p.a.data(), .stride = static_cast<std::size_t>(p.k)};
  task.b = {.elements = p.b.data(), .stride = static_cast<std::size_t>(p.k)};
  task.d_stride = static_cast<std::size_t>(p.n);
  for (auto _ : state) {
    std::fill(p.d.begin(), p.d.end(), 0u);
    kernel.run(task);
    benchmark::ClobberMemory();
  }
  const double flops = 2.0 * p.m * p.n * p.k * static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsRate);
  const GemmCounters& c = kernel.counters();
  state.counters["proven"] = static_cast<double>(c.proven) / static_cast<double>(c.elements);
  state.counters["redone"] = static_cast<double>(c.redone) / static_cast<double>(c.elements);
}

// Kinds of other loops than bf16's: one instruction of fp4, and of i8.
void one_instruction(benchmark::State& state, DotSpec spec) {
  const int m = 128, n = 256, k = mma_k(spec.kind);
  std::mt19937 random(1);
  std::vector<std::uint8_t> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(n * k)),
      scales(static_cast<std::size_t>(n * 4), 0x38);
  for (auto& byte : a) byte = static_cast<std::uint8_t>(random() & 15);
  for (auto& byte : b) byte = static_cast<std::uint8_t>(random() & 15);
  std::vector<std::uint32_t> d(static_cast<std::size_t>(m * n));
  GemmTask task{.spec = spec, .m = m, .n = n, .k = k, .d = d.data(), .d_stride = static_cast<std::size_t>(n)};
  task.a = {a.data(), static_cast<std::size_t>(k), scales.data(), 4};
  task.b = {b.data(), static_cast<std::size_t>(k), scales.data(), 4};
  GemmKernel kernel;
  for (auto _ : state) kernel.run(task);
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * m * n * k * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

constexpr auto bf16 = ScalarType::bf16, f16 = ScalarType::f16;
constexpr auto best = VectorUnit::automatic;

BENCHMARK_CAPTURE(multiply, exact_bf16, Data::normal, bf16, Arithmetic::exact, best, 64);
BENCHMARK_CAPTURE(multiply, exact_bf16_one_instruction, Data::normal, bf16, Arithmetic::exact, best, 16);
BENCHMARK_CAPTURE(multiply, exact_f16, Data::normal, f16, Arithmetic::exact, best, 64);
BENCHMARK_CAPTURE(multiply, exact_bf16_avx2, Data::normal, bf16, Arithmetic::exact, VectorUnit::avx2, 64);
BENCHMARK_CAPTURE(multiply, exact_bf16_portable, Data::normal, bf16, Arithmetic::exact, VectorUnit::portable, 64);
BENCHMARK_CAPTURE(multiply, proven_bf16, Data::integers, bf16, Arithmetic::exact, best, 64);
BENCHMARK_CAPTURE(multiply, proven_bf16_one_instruction, Data::integers, bf16, Arithmetic::exact, best, 16);
BENCHMARK_CAPTURE(multiply, fast_bf16, Data::normal, bf16, Arithmetic::fast, best, 64);
BENCHMARK_CAPTURE(multiply, fast_bf16_avx2, Data::normal, bf16, Arithmetic::fast, VectorUnit::avx2, 64);

BENCHMARK_CAPTURE(one_instruction, nvfp4,
                  DotSpec{.kind = MmaKind::mxf4nvf4,
                          .a = ScalarType::e2m1,
                          .b = ScalarType::e2m1,
                          .scale = ScalarType::ue4m3,
                          .scale_vector = 4});
BENCHMARK_CAPTURE(one_instruction, i8,
                  DotSpec{.kind = MmaKind::i8, .a = ScalarType::s8, .b = ScalarType::s8, .d = ScalarType::s32});

}  // namespace
