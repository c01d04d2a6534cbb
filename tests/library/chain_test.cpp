// What a GEMM quantises is an operand of the next one, elements and scales as they lie. Operands are small integers,
// so that sums are exact: elements and scales are, bit for bit, what the rule of the contract's page makes of plain
// sums, written out here. The second product is then right within its bound.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "dsl/entry.hpp"
#include "emit/emit.hpp"
#include "harness/compare/compare.hpp"
#include "harness/problem/element.hpp"
#include "harness/problem/fill.hpp"
#include "ptx/diag/render.hpp"
#include "ptx/isa/scales.hpp"
#include "ptx/num/format.hpp"
#include "sim/simulate.hpp"
#include "verifier/verify.hpp"

namespace kiln::chain_tests {
namespace {

using isa::ScalarType;
using launch::Buffer;
using launch::Contract;

struct Problem {
  ir::Module module;
  Contract contract;
};

Problem problem(std::string_view name, const dsl::Sizes& given) {
  const auto table = dsl::kernel_table();
  const auto entry = std::find_if(table.begin(), table.end(), [&](const dsl::Entry& e) { return e.name == name; });
  REQUIRE(entry != table.end());
  dsl::Sizes sizes = dsl::standard_sizes(*entry);
  for (const auto& [option, value] : given) sizes[option] = value;
  const dsl::Kernel kernel = entry->build(entry->targets[0], sizes);
  return {kernel.module, entry->problem(kernel, sizes)};
}

void run(Problem& p) {
  diag::Sink sink;
  const sim::Result result = sim::simulate(p.module, p.contract, {}, sink);
  INFO(diag::render_text(sink));
  REQUIRE(result.outcome == sim::Outcome::finished);
  REQUIRE(sink.all().empty());
}

double number(const Buffer& b, std::uint64_t index) {
  return harness::element_value(b.dtype, harness::load_element(b.bytes, b.dtype, index));
}

// A matrix times its scales.
std::vector<double> scaled(const Buffer& matrix, const Buffer* scales, std::uint64_t block) {
  std::vector<double> out(matrix.elements());
  const std::uint64_t columns = matrix.shape[1];
  for (std::uint64_t i = 0; i < out.size(); ++i)
    out[i] = number(matrix, i) *
             (scales ? number(*scales, isa::scale_index(i / columns, i % columns / block, scales->shape[1])) : 1);
  return out;
}

std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, std::uint64_t k) {
  const std::uint64_t m = a.size() / k, n = b.size() / k;
  std::vector<double> out(m * n);
  for (std::uint64_t i = 0; i < m * n; ++i)
    for (std::uint64_t x = 0; x < k; ++x) out[i] += a[i / n * k + x] * b[i % n * k + x];
  return out;
}

// The word nearest to a number, halves to even, the largest where it is larger: by a look at all of them.
std::uint64_t nearest(ScalarType type, float x) {
  std::uint64_t best = 0;
  double distance = INFINITY;
  for (std::uint64_t word = 0; word < std::uint64_t{1} << isa::bits(type); ++word) {
    const double value = harness::element_value(type, word);
    if (!std::isfinite(value) || std::signbit(value) != std::signbit(x)) continue;
    const double d = std::abs(value - double(x));
    if (d < distance || (d == distance && word % 2 == 0)) best = word, distance = d;
  }
  return best;
}

// Of 32 numbers the power of two below the greatest, less the largest exponent of an element; of 16 the greatest by 6
// as ue4m3. Each step is rounded to f32.
struct Rule {
  ScalarType element, scale;
  std::uint64_t block;

  std::uint64_t scale_word(float most) const {
    if (scale == ScalarType::ue8m0)
      return std::uint64_t(most == 0 ? 127
                                     : std::max(0, std::ilogb(most) + 127 - (element == ScalarType::e4m3 ? 8 : 2)));
    return nearest(ScalarType::e4m3, most * (1 / 6.0f));
  }
  float factor(std::uint64_t word) const {
    if (scale == ScalarType::ue8m0) return std::ldexp(1.0f, 127 - int(word));
    const auto value = float(harness::element_value(ScalarType::ue4m3, word));
    return value == 0 ? 0 : 1 / value;
  }
};

void check_quantised(const Contract& c, const std::vector<double>& sums, float alpha, const Rule& rule) {
  const Buffer &d = c.at("D"), &scales = c.at("SFD");
  const std::uint64_t n = d.shape[1];
  std::uint64_t wrong_scales = 0, wrong = 0;
  for (std::uint64_t first = 0; first < sums.size(); first += rule.block) {
    float most = 0;
    for (std::uint64_t i = first; i < first + rule.block; ++i) most = std::max(most, std::abs(float(sums[i]) * alpha));
    const std::uint64_t word = rule.scale_word(most);
    wrong_scales += word != harness::load_element(scales.bytes, scales.dtype,
                                                  isa::scale_index(first / n, first % n / rule.block, scales.shape[1]));
    for (std::uint64_t i = first; i < first + rule.block; ++i)
      wrong += nearest(rule.element, float(sums[i]) * alpha * rule.factor(word)) !=
               harness::load_element(d.bytes, d.dtype, i);
  }
  CHECK(wrong_scales == 0);
  CHECK(wrong == 0);
}

void fill_with_integers(Contract& c, std::vector<const char*> matrices) {
  for (const char* name : matrices) {
    launch::Init& init = c.at(name).init;
    init.kind = launch::Init::Kind::integers;
    init.low = -3, init.high = 3;
    init.quantised.reset();
  }
  for (Buffer& b : c.buffers)
    if (b.name == "SFA" || b.name == "SFB") {
      b.init.kind = launch::Init::Kind::uniform;
      b.init.low = 0.5, b.init.high = b.dtype == ScalarType::ue8m0 ? 2 : 1;
    }
}

// `first` quantises what `second` reads.
void check_chain(const char* first, const char* second, const Rule& rule, const dsl::Sizes& sizes) {
  CAPTURE(first);
  Problem one = problem(first, sizes);
  fill_with_integers(one.contract, {"A", "B"});
  harness::fill(one.contract);
  run(one);
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n"), k = sizes.at("k");
  const Contract& c = one.contract;
  const auto operand = [&](const char* matrix, const char* scales) {
    return scaled(c.at(matrix), c.find(scales), rule.block);
  };
  const std::vector<double> sums = product(operand("A", "SFA"), operand("B", "SFB"), k);
  check_quantised(c, sums, c.find("alpha") ? float(number(c.at("alpha"), 0)) : 1, rule);
  for (const launch::Expectation& e : c.expectations) CHECK(harness::compare(c, e).pass);

  Problem two = problem(second, {{"m", m}, {"n", 40}, {"k", n}});
  fill_with_integers(two.contract, {"B"});
  two.contract.at("A").init.quantised.reset();
  harness::fill(two.contract);
  two.contract.at("A").bytes = c.at("D").bytes;
  // The chunks of scales as they lie: those that a slot takes beside them are outside of the tensor map.
  Buffer& sfa = two.contract.at("SFA");
  sfa.shape = c.at("SFD").shape;
  sfa.bytes = c.at("SFD").bytes;
  for (auto& [name, map] : two.contract.tensor_maps)
    if (map.buffer == "SFA") {
      map.dims[1] = sfa.shape[1], map.dims[2] = sfa.shape[0];
      map.strides[2] = sfa.shape[1] * isa::scale_chunk_bytes;
    }
  run(two);
  CHECK(harness::compare(two.contract, two.contract.expectations[0]).pass);
}

}  // namespace

TEST_CASE("what one product quantises to mxf8 or nvfp4, bit for bit by the rule, the next one multiplies") {
  const Rule mxf8{ScalarType::e4m3, ScalarType::ue8m0, 32}, nvf4{ScalarType::e2m1, ScalarType::ue4m3, 16};
  for (const std::uint64_t group : {1, 2}) {
    CAPTURE(group);
    check_chain("gemm_bf16_to_mxf8", "gemm_mxf8", mxf8, {{"m", 140}, {"n", 288}, {"k", 72}, {"cta-group", group}});
    check_chain("gemm_mxf8_to_mxf8", "gemm_mxf8", mxf8, {{"m", 140}, {"n", 288}, {"k", 96}, {"cta-group", group}});
    check_chain("gemm_bf16_to_nvf4", "gemm_nvf4", nvf4, {{"m", 140}, {"n", 288}, {"k", 72}, {"cta-group", group}});
    check_chain("gemm_nvf4_to_nvf4", "gemm_nvf4", nvf4, {{"m", 140}, {"n", 288}, {"k", 96}, {"cta-group", group}});
  }
}

}  // namespace kiln::chain_tests
