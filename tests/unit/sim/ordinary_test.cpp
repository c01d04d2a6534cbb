// CUDA C++ as nvcc -O3 compiles it, against the same computation in plain C++.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "ptx/num/format.hpp"
#include "tests/unit/sim/data_file.hpp"

namespace sim_ordinary {

using namespace kiln;
using namespace kiln::test;
using u32 = std::uint32_t;

namespace {

constexpr const char* ordinary = "ordinary_sm_90.ptx";
constexpr const char* numeric = "numeric_sm_90.ptx";

// Numbers without an obvious pattern.
template <class T, class F>
std::vector<T> values(std::size_t n, F of) {
  std::vector<T> out(n);
  u32 state = 12345;
  for (T& v : out) v = of((state = state * 1664525u + 1013904223u) >> 8);
  return out;
}

bool near(double a, double b, double relative) { return std::fabs(a - b) <= relative * std::max(1.0, std::fabs(b)); }

}  // namespace

TEST_CASE("a reduction through warps and shared memory") {
  const auto in = values<float>(1000, [](u32 r) { return float(int(r % 200) - 100); });
  const Run r = run_entry(ordinary, "reduce", 2, 128, {filled("in", in), buffer("out", 8)},
                          {pointer("in"), pointer("out"), number(1000)});
  CHECK_MESSAGE(r.clean(), r.findings());
  float want[2] = {};
  for (std::size_t i = 0; i < in.size(); ++i) want[i / 128 % 2] += in[i];
  CHECK(r.read<float>("out") == std::vector<float>{want[0], want[1]});  // whole numbers: any order is exact
}

TEST_CASE("a softmax") {
  constexpr int rows = 2, columns = 150;
  const auto in = values<float>(rows * columns, [](u32 r) { return float(r % 1000) / 100; });
  const Run r = run_entry(ordinary, "softmax", rows, 64, {filled("in", in), buffer("out", in.size() * 4)},
                          {pointer("in"), pointer("out"), number(columns)});
  CHECK_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<float>("out");
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int k = 0; k < columns; ++k) sum += std::exp(double(in[std::size_t(row * columns + k)]));
    for (int k = 0; k < columns; ++k) {
      const auto i = std::size_t(row * columns + k);
      CHECK(near(out[i], std::exp(double(in[i])) / sum, 1e-6));
    }
  }
}

TEST_CASE("a switch with different work in each case") {
  constexpr int steps = 20, n = 64;
  const auto program = values<int>(steps, [](u32 r) { return int(r % 10); });
  const auto in = values<int>(n, [](u32 r) { return int(r % 2001) - 1000; });
  const Run r =
      run_entry(ordinary, "interpret", 2, 32, {filled("program", program), filled("in", in), buffer("out", n * 4)},
                {pointer("program"), pointer("in"), pointer("out"), number(steps)});
  CHECK_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<int>("out");
  for (int i = 0; i < n; ++i) {
    u32 x = u32(in[std::size_t(i)]), y = 1;
    const auto s = [](u32 v) { return std::int32_t(v); };
    for (int k = 0; k < steps; ++k) switch (program[std::size_t((i + k) % steps)]) {
        case 0: x += y; break;
        case 1: x = x * 3 + 1; break;
        case 2: y ^= x; break;
        case 3: x = u32(s(x) / s(y | 1)); break;
        case 4: y += u32(std::popcount(x)); break;
        case 5: x = u32(s(y) % 7) - x; break;
        case 6: std::swap(x, y); break;
        case 7: x = u32(std::countl_zero(x)) << (y & 15); break;
        case 8: y = u32(std::min(s(x), s(y))); break;
        default: x = 0 - x; break;
      }
    CHECK(out[std::size_t(i)] == s(x + y));
  }
}

TEST_CASE("virtual calls, tables of functions and structures by value, lane by lane") {
  constexpr int n = 64;
  for (const std::uint64_t seed : {1, 2, 3}) {
    sim::Options options;
    options.seed = seed;
    const Run r = run_entry(ordinary, "dispatch", 1, n,
                            {buffer("areas", n * 4), buffer("values", n * 4), buffer("firsts", n * 8)},
                            {pointer("areas"), pointer("values"), pointer("firsts")}, options);
    CHECK_MESSAGE(r.clean(), r.findings());
    const auto areas = r.read<float>("areas");
    const auto results = r.read<int>("values");
    const auto firsts = r.read<double>("firsts");
    for (int i = 0; i < n; ++i) {
      const float square = float(i * i);
      CHECK(areas[std::size_t(i)] == (i % 3 ? (i & 1 ? square : 2 * square) : (i & 1 ? 3 * square : 7 * square)));
      int a = i, b = i + 2, by = i % 5;
      if (by < 3) a = i + 2 + by, b = i;
      CHECK(firsts[std::size_t(i)] == (by < 3 ? double(i) * by : double(i)));
      CHECK(results[std::size_t(i)] == (i % 3 == 0 ? a + b : i % 3 == 1 ? a - b : a * b));
    }
  }
}

TEST_CASE("printf prints what C prints") {
  std::string text;
  sim::Options options;
  options.print = [&](std::string_view s) { text += s; };
  const std::vector<float> in(32, 2.5f);
  const Run r = run_entry(ordinary, "talk", 1, 32, {filled("in", in)}, {pointer("in"), number(2)}, options);
  CHECK_MESSAGE(r.clean(), r.findings());
  CHECK(text == "thread 1: 2.50! 0x01001 8589934592\nthread 17: 2.50! 0x11011 562949953421312\n");
}

TEST_CASE("a failed assertion is a fault with its words and its place") {
  std::vector<float> in(32, 2.5f);
  in[7] = 0;
  const Run r = run_entry(ordinary, "talk", 1, 32, {filled("in", in)}, {pointer("in"), number(2)});
  CHECK(r.result.outcome == sim::Outcome::fault);
  CHECK(
      r.has("no thread may reach a trap; got the assertion `in[i] >= least && \"too small\"` failed in "
            "ordinary_sm_90.cu:"));
  CHECK(r.has("talk("));
}

TEST_CASE("the last block to finish sums up what all have counted") {
  const auto in = values<std::uint8_t>(1000, [](u32 r) { return std::uint8_t(r % 256); });
  const Run r = run_entry(ordinary, "histogram", 4, 96, {filled("in", in), buffer("bins", 1024), buffer("total", 8)},
                          {pointer("in"), pointer("bins"), pointer("total"), number(1000)});
  CHECK_MESSAGE(r.clean(), r.findings());
  std::vector<u32> bins(256);
  for (const std::uint8_t v : in) ++bins[v];
  CHECK(r.read<u32>("bins") == bins);
  CHECK(r.read<std::uint64_t>("total")[0] == std::accumulate(in.begin(), in.end(), std::uint64_t{0}));
}

TEST_CASE("double precision") {
  const auto in = values<double>(100, [](u32 r) { return double(int(r % 4000) - 2000) / 700; });
  const Run r = run_entry(numeric, "doubles", 2, 64, {filled("in", in), buffer("out", 800)},
                          {pointer("in"), pointer("out"), number(100)});
  CHECK_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<double>("out");
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double x = in[i];
    const double p = std::fma(std::fma(std::fma(0.25, x, -1.5), x, 3.0), x, 1e-3);
    const double want =
        std::sqrt(std::fabs(p)) / std::fma(x, x, 1.0) + std::exp(-std::fabs(x)) - std::floor(x) + std::fmin(x, p);
    CHECK(near(out[i], want, 4e-16));
  }
}

TEST_CASE("two halves at a time") {
  using isa::ScalarType;
  constexpr std::size_t n = 50;
  const auto random = [](ScalarType t) {
    return [t](u32 r) { return std::uint16_t(num::encode(t, double(int(r % 2001) - 1000) / 64)); };
  };
  const auto x = values<std::uint16_t>(2 * n, random(ScalarType::f16));
  auto y = x;
  std::rotate(y.begin(), y.begin() + 7, y.end());
  const auto z = values<std::uint16_t>(2 * n, random(ScalarType::bf16));
  const Run r = run_entry(numeric, "axpy", 1, 64, {filled("x", x), filled("y", y), filled("z", z)},
                          {pointer("x"), pointer("y"), pointer("z"), number(1.25f), number(int(n))});
  CHECK_MESSAGE(r.clean(), r.findings());
  const auto half = [](std::uint16_t w) { return num::to_double(ScalarType::f16, w); };
  const auto new_y = r.read<std::uint16_t>("y"), new_z = r.read<std::uint16_t>("z");
  for (std::size_t i = 0; i < 2 * n; i += 2) {
    std::uint16_t v[2];
    for (std::size_t k = 0; k < 2; ++k)  // exact in double: 5 bits more than the product of two halves
      v[k] = std::uint16_t(num::encode(ScalarType::f16, 1.25 * half(x[i + k]) + half(y[i + k])));
    if (half(v[0]) > half(v[1])) std::swap(v[0], v[1]);
    for (std::size_t k = 0; k < 2; ++k) {
      CHECK(new_y[i + k] == v[k]);
      const double most = std::max(half(v[k]), half(x[i + k]));
      const double as_bf16 = num::to_double(ScalarType::bf16, num::encode(ScalarType::bf16, most));
      CHECK(new_z[i + k] ==
            std::uint16_t(num::encode(ScalarType::bf16, num::to_double(ScalarType::bf16, z[i + k]) * as_bf16)));
    }
  }
}

TEST_CASE("a scan and a rank sort of 64-bit integers") {
  const auto in = values<std::int64_t>(512, [](u32 r) { return std::int64_t(r % 1000) * 10'000'000'000 - 7; });
  const Run r = run_entry(numeric, "scan", 2, 256, {filled("in", in), buffer("out", 4096), buffer("rank", 2048)},
                          {pointer("in"), pointer("out"), pointer("rank")});
  CHECK_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<std::int64_t>("out");
  const auto rank = r.read<int>("rank");
  for (std::size_t block = 0; block < 512; block += 256) {
    std::int64_t sum = 0;
    std::vector<std::int64_t> sorted(256);
    for (std::size_t i = block; i < block + 256; ++i) {
      CHECK(out[i] == (sum += in[i]));
      sorted[std::size_t(rank[i])] = in[i];
    }
    CHECK(std::is_sorted(sorted.begin(), sorted.end()));
  }
}

TEST_CASE("ballots, matches and a compaction") {
  const auto in = values<int>(100, [](u32 r) { return int(r % 9) - 4; });
  const Run r = run_entry(numeric, "compact", 2, 64, {filled("in", in), buffer("out", 400), buffer("count", 4)},
                          {pointer("in"), pointer("out"), pointer("count"), number(100)});
  CHECK_MESSAGE(r.clean(), r.findings());
  std::multiset<int> want;
  for (std::size_t warp = 0; warp < 4; ++warp) {
    std::map<int, int> same;
    for (std::size_t i = warp * 32; i < warp * 32 + 32; ++i) ++same[i < 100 ? in[i] : -1];
    for (std::size_t i = warp * 32; i < std::min<std::size_t>(100, warp * 32 + 32); ++i)
      if (in[i] >= 0) want.insert(in[i] * 64 + same[in[i]]);
  }
  const auto out = r.read<int>("out");
  const auto count = std::size_t(r.read<int>("count")[0]);
  REQUIRE(count == want.size());
  CHECK(std::multiset<int>(out.begin(), out.begin() + std::ptrdiff_t(count)) == want);
}

}  // namespace sim_ordinary
