// The kernels of the cookbook against plain arithmetic, on even and on ragged sizes and in many schedules; nothing is
// reported of any. What their synchronisation is proven for, the last case says.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dsl/entry.hpp"
#include "emit/emit.hpp"
#include "harness/problem/fill.hpp"
#include "ptx/diag/render.hpp"
#include "ptx/num/format.hpp"
#include "ptx/parse/parse.hpp"
#include "sim/simulate.hpp"
#include "verifier/explore.hpp"
#include "verifier/verify.hpp"

namespace cookbook_test {

using namespace kiln;

namespace {

using Sizes = std::map<std::string, std::uint64_t>;

const dsl::Entry& entry(std::string_view name) {
  const auto table = dsl::kernel_table();
  const auto found = std::find_if(table.begin(), table.end(), [&](const dsl::Entry& e) { return e.name == name; });
  REQUIRE(found != table.end());
  return *found;
}

struct Problem {
  ir::Module module;
  launch::Contract contract;
};

Problem problem(std::string_view name, const Sizes& of) {
  const dsl::Entry& e = entry(name);
  dsl::Sizes sizes = dsl::standard_sizes(e);
  for (const auto& [option, value] : of) sizes[option] = value;
  const dsl::Kernel kernel = e.build(e.targets[0], sizes);
  diag::Sink sink;
  const auto verified = verifier::verify(kernel.module, sink);
  INFO(diag::render_text(sink));
  REQUIRE(verified);
  REQUIRE(sink.all().empty());
  Problem p{parse::parse(std::make_shared<const diag::Source>("kernel.ptx", emit::emit(*verified)), sink),
            e.problem(kernel, sizes)};
  harness::fill(p.contract);
  return p;
}

launch::Contract run(const Problem& p, std::uint64_t seed) {
  constexpr sim::Strategy strategies[] = {sim::Strategy::random, sim::Strategy::adversarial, sim::Strategy::pct};
  launch::Contract contract = p.contract;
  sim::Options options;
  options.seed = seed;
  options.strategy = strategies[seed % std::size(strategies)];
  diag::Sink sink;
  const sim::Result result = sim::simulate(p.module, contract, options, sink);
  INFO(diag::render_text(sink));
  REQUIRE(result.outcome == sim::Outcome::finished);
  REQUIRE(sink.all().empty());
  return contract;
}

/// A buffer of two dimensions as numbers.
struct Matrix {
  std::vector<double> values;
  std::size_t columns;
  double at(std::size_t r, std::size_t c) const { return values[r * columns + c]; }
};
Matrix matrix(const launch::Contract& c, const std::string& name) {
  const launch::Buffer& b = *c.find(name);
  const std::size_t bytes = std::size_t(isa::bits(b.dtype) / 8);
  Matrix m{{}, b.shape.size() == 2 ? std::size_t(b.shape[1]) : 1};
  for (std::size_t i = 0; i < b.bytes.size(); i += bytes) {
    std::uint64_t word = 0;
    for (std::size_t k = 0; k < bytes; ++k) word |= std::uint64_t(b.bytes[i + k]) << 8 * k;
    m.values.push_back(b.dtype == isa::ScalarType::u32 ? double(word) : num::to_double(b.dtype, word));
  }
  return m;
}

/// How many numbers of `got` differ from what is wanted of (row, column) by more than a share of it, or of 1.
int wrong(const Matrix& got, double share, const std::function<double(std::size_t, std::size_t)>& want) {
  int n = 0;
  for (std::size_t r = 0; r * got.columns < got.values.size(); ++r)
    for (std::size_t c = 0; c < got.columns; ++c) {
      const double w = want(r, c);
      n += !(std::abs(got.at(r, c) - w) <= share * std::max(1.0, std::abs(w)));
    }
  return n;
}

constexpr double bf16_share = 0.01;

void check_residual(const launch::Contract& c) {
  const Matrix a = matrix(c, "A"), b = matrix(c, "B"), addend = matrix(c, "C"), scale = matrix(c, "scale"),
               d = matrix(c, "D");
  Matrix want{{}, d.columns};
  for (std::size_t r = 0; r < scale.values.size(); ++r)
    for (std::size_t col = 0; col < d.columns; ++col) {
      double sum = addend.at(r, col);
      for (std::size_t k = 0; k < a.columns; ++k) sum += a.at(r, k) * b.at(col, k);
      want.values.push_back(sum * scale.values[r]);
    }
  CHECK(wrong(d, bf16_share, [&](std::size_t r, std::size_t col) { return want.at(r, col); }) == 0);
  CHECK(wrong(matrix(c, "sums"), 1e-3, [&](std::size_t r, std::size_t) {
          double squares = 0;
          for (std::size_t col = 0; col < d.columns; ++col) squares += want.at(r, col) * want.at(r, col);
          return squares;
        }) == 0);
}

void check_block_scaled(const launch::Contract& c) {
  const Matrix a = matrix(c, "A"), b = matrix(c, "B"), sa = matrix(c, "a_scales"), sb = matrix(c, "b_scales");
  CHECK(wrong(matrix(c, "D"), bf16_share, [&](std::size_t r, std::size_t col) {
          double sum = 0;
          for (std::size_t k = 0; k < a.columns; ++k)
            sum += a.at(r, k) * b.at(col, k) * sa.at(r, k / 128) * sb.at(col / 128, k / 128);
          return sum;
        }) == 0);
}

void check_paged_decode(const launch::Contract& c) {
  constexpr std::size_t rows = 64, page = 64, head = 128;
  const Matrix q = matrix(c, "Q"), k = matrix(c, "K"), v = matrix(c, "V"), pages = matrix(c, "pages"),
               lengths = matrix(c, "lengths"), o = matrix(c, "O");
  int bad = 0;
  for (std::size_t group = 0; group < lengths.values.size(); ++group)
    for (std::size_t r = group * rows; r < (group + 1) * rows; ++r) {
      std::vector<double> weights, sums(head);
      double total = 0;
      const auto place = [&](std::size_t key) { return std::size_t(pages.at(group, key / page)) * page + key % page; };
      for (std::size_t key = 0; key < std::size_t(lengths.values[group]); ++key) {
        double score = 0;
        for (std::size_t i = 0; i < head; ++i) score += q.at(r, i) * k.at(place(key), i);
        total += weights.emplace_back(std::exp(score / std::sqrt(double(head))));
      }
      for (std::size_t key = 0; key < weights.size(); ++key)
        for (std::size_t i = 0; i < head; ++i) sums[i] += weights[key] / total * v.at(place(key), i);
      for (std::size_t i = 0; i < head; ++i) bad += !(std::abs(o.at(r, i) - sums[i]) <= 0.02);
    }
  CHECK(bad == 0);
}

/// Right on every size, and on the last one in that many schedules.
void check(std::string_view name, const std::vector<Sizes>& sizes, int schedules,
           const std::function<void(const launch::Contract&)>& is_right) {
  for (const Sizes& one : sizes) {
    std::string shape;
    for (const auto& [option, value] : one) shape += option + "=" + std::to_string(value) + " ";
    INFO(shape);
    const Problem p = problem(name, one);
    const int runs = &one == &sizes.back() ? schedules : 1;
    for (int seed = 1; seed <= runs; ++seed) {
      INFO("seed " << seed);
      is_right(run(p, std::uint64_t(seed)));
    }
  }
}

}  // namespace

TEST_CASE("residual adds, scales and sums") {
  check(
      "residual",
      {{{"m", 256}, {"n", 384}, {"k", 448}}, {{"m", 200}, {"n", 232}, {"k", 136}}, {{"m", 72}, {"n", 200}, {"k", 64}}},
      400, check_residual);
}

TEST_CASE("block_scaled promotes every block") {
  check("block_scaled",
        {{{"m", 512}, {"n", 384}, {"k", 512}},
         {{"m", 300}, {"n", 200}, {"k", 400}, {"ctas", 4}},
         {{"m", 256}, {"n", 128}, {"k", 256}, {"ctas", 2}}},
        300, check_block_scaled);
}

TEST_CASE("paged_decode attends to its pages") {
  check("paged_decode", {{{"batch", 3}, {"n", 320}}, {{"batch", 2}, {"n", 77}}, {{"batch", 1}, {"n", 200}}}, 300,
        check_paged_decode);
}

TEST_CASE("the synchronisation of a kernel whose trip counts are parameters is proven for every launch") {
  for (const char* name : {"residual", "block_scaled"}) {
    INFO(name);
    const Problem p = problem(name, {});
    diag::Sink sink;
    verifier::check_synchronisation(p.module, sink, nullptr);
    INFO(diag::render_text(sink));
    CHECK(sink.all().empty());
  }
}

}  // namespace cookbook_test
