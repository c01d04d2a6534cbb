#include "kernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "dsl/entry.hpp"
#include "emit/emit.hpp"
#include "harness/problem/fill.hpp"
#include "ptx/diag/render.hpp"
#include "ptx/num/format.hpp"
#include "ptx/parse/parse.hpp"
#include "sim/simulate.hpp"
#include "verifier/verify.hpp"

namespace cookbook_test {

namespace {

const dsl::Entry& entry(std::string_view name) {
  const auto table = dsl::kernel_table();
  const auto found = std::find_if(table.begin(), table.end(), [&](const dsl::Entry& e) { return e.name == name; });
  REQUIRE(found != table.end());
  return *found;
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

}  // namespace

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

int wrong(const Matrix& got, double share, const std::function<double(std::size_t, std::size_t)>& want) {
  int n = 0;
  for (std::size_t r = 0; r * got.columns < got.values.size(); ++r)
    for (std::size_t c = 0; c < got.columns; ++c) {
      const double w = want(r, c);
      n += !(std::abs(got.at(r, c) - w) <= share * std::max(1.0, std::abs(w)));
    }
  return n;
}

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

}  // namespace cookbook_test
