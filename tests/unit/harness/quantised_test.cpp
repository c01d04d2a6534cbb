// Results that are quantised, normed, or products of scaled groups and batches, against plain loops.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "harness/compare/compare.hpp"
#include "harness/compare/quantised.hpp"
#include "harness/contract/contract_json.hpp"
#include "harness/problem/element.hpp"
#include "launch/operands.hpp"
#include "ptx/isa/scales.hpp"
#include "tests/unit/harness/buffer.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::quantised_tests {
namespace {

using isa::ScalarType;
using launch::Buffer;
using launch::Contract;
using launch::Expectation;
using launch::Init;
using test::contains;
using test::element;
using test::error_of;
using test::filled;

constexpr std::uint64_t m = 5, n = 64, k = 32;

Buffer integers(const char* name, ScalarType type, std::vector<std::uint64_t> shape, std::uint64_t seed) {
  return filled(name, type, std::move(shape), {Init::Kind::integers, -3, 3, seed, {}});
}

double dot(const Contract& c, std::uint64_t row, std::uint64_t column, std::uint64_t first_row_of_b = 0) {
  double sum = 0;
  for (std::uint64_t x = 0; x < k; ++x)
    sum += element(c.at("A"), row * k + x) * element(c.at("B"), (first_row_of_b + column) * k + x);
  return sum;
}

void set_scale(Buffer& scales, std::uint64_t row, std::uint64_t block, std::uint64_t word) {
  store_element(scales.bytes, scales.dtype, isa::scale_index(row, block, scales.shape[1]), word);
}

// D and its scales as a kernel leaves them: by the rule of ue8m0, written out.
Contract mxf8() {
  Contract c;
  c.buffers = {integers("A", ScalarType::bf16, {m, k}, 1), integers("B", ScalarType::bf16, {n, k}, 2),
               filled("D", ScalarType::e4m3, {m, n}), launch::scale_buffer("SFD", ScalarType::ue8m0, m, n / 32)};
  c.at("SFD").bytes.resize(c.at("SFD").size());
  for (std::uint64_t row = 0; row < m; ++row)
    for (std::uint64_t first = 0; first < n; first += 32) {
      double most = 0;
      for (std::uint64_t j = first; j < first + 32; ++j) most = std::max(most, std::abs(dot(c, row, j)));
      const int exponent = most == 0 ? 0 : int(std::floor(std::log2(most))) - 8;
      set_scale(c.at("SFD"), row, first / 32, std::uint64_t(exponent + 127));
      for (std::uint64_t j = first; j < first + 32; ++j)
        store_element(c.at("D").bytes, ScalarType::e4m3, row * n + j,
                      quantise(ScalarType::e4m3, dot(c, row, j) / std::exp2(exponent)));
    }
  Expectation gemm, scales;
  gemm.output = "D", gemm.a = "A", gemm.b = "B", gemm.sfd = "SFD";
  scales.kind = Expectation::Kind::scales;
  scales.output = "SFD", scales.a = "D";
  c.expectations = {gemm, scales};
  return c;
}

Comparison of_d(const Contract& c) { return compare(c, c.expectations[0]); }
Comparison of_scales(const Contract& c) { return compare(c, c.expectations[1]); }

}  // namespace

TEST_CASE("a quantised result is right where elements and scales are what rounding makes of the sums") {
  const Contract right = mxf8();
  CHECK(of_d(right).pass);
  CHECK(of_scales(right).pass);
  CHECK(of_scales(right).elements == m * n / 32);

  Contract c = right;
  const std::uint64_t word = load_element(c.at("D").bytes, ScalarType::e4m3, 70);
  store_element(c.at("D").bytes, ScalarType::e4m3, 70, word + 1);  // the next number is one too far
  CHECK(of_d(c).wrong == 1);
  CHECK(of_d(c).worst == std::vector<std::uint64_t>{1, 6});
  CHECK(of_scales(c).pass);

  c = right;
  const std::uint64_t index = isa::scale_index(3, 1, c.at("SFD").shape[1]);
  c.at("SFD").bytes[index] ^= 1;  // a power of two too many or too few, by which D is off too
  CHECK(of_scales(c).wrong == 1);
  CHECK(of_d(c).wrong > 0);
}

TEST_CASE("a scale may be what rounding makes of any number that the greatest may be") {
  const std::vector<Estimate> sure{{3, 0}, {-4, 0}}, near{{3, 0}, {-3.99, 0.02}};
  const Allowed one = allowed_scale(ScalarType::ue8m0, ScalarType::e4m3, sure);
  CHECK(one.least == std::exp2(-6));
  CHECK(one.most == std::exp2(-6));
  const Allowed two = allowed_scale(ScalarType::ue8m0, ScalarType::e4m3, near);
  CHECK(two.has(std::exp2(-7)));
  CHECK(two.has(std::exp2(-6)));
  CHECK_FALSE(two.has(std::exp2(-5)));
  // Zeros have a scale of 1; where it is not sure that they are, any up to that.
  CHECK(allowed_scale(ScalarType::ue8m0, ScalarType::e4m3, std::vector<Estimate>{{0, 0}}).least == 1);
  CHECK(allowed_scale(ScalarType::ue8m0, ScalarType::e4m3, std::vector<Estimate>{{0, 1e-6}}).has(std::exp2(-40)));
  // A scale of zero leaves zeros.
  CHECK(allowed_element(ScalarType::e2m1, {1, 0}, 0).has(0));
  CHECK_FALSE(allowed_element(ScalarType::e2m1, {1, 0}, 0).has(0.5));
  CHECK(allowed_element(ScalarType::e2m1, {5, 0}, 1).value == 4);  // a tie, to even
  CHECK(allowed_element(ScalarType::e2m1, {5, 0}, 1).has(6));      // which a reciprocal may tip
  CHECK_FALSE(allowed_element(ScalarType::e2m1, {4.9, 0}, 1).has(6));
}

TEST_CASE("a norm divides each row by the root of the mean square of its row of A") {
  Contract c;
  c.buffers = {integers("A", ScalarType::bf16, {m, k}, 1), integers("B", ScalarType::bf16, {n, k}, 2),
               filled("D", ScalarType::f32, {m, n})};
  Expectation gemm;
  gemm.output = "D", gemm.a = "A", gemm.b = "B", gemm.norm = 0.5;
  c.expectations = {gemm};
  for (std::uint64_t row = 0; row < m; ++row) {
    double squares = 0;
    for (std::uint64_t x = 0; x < k; ++x) squares += std::pow(element(c.at("A"), row * k + x), 2);
    for (std::uint64_t j = 0; j < n; ++j)
      store_element(c.at("D").bytes, ScalarType::f32, row * n + j,
                    quantise(ScalarType::f32, dot(c, row, j) / std::sqrt(squares / k + 0.5)));
  }
  CHECK(of_d(c).pass);
  c.expectations[0].norm = 0.6;
  CHECK_FALSE(of_d(c).pass);
  c.expectations[0].norm = 0;
  CHECK_FALSE(of_d(c).pass);
}

TEST_CASE("matrices of a batch and groups of rows have scales of their own") {
  Contract c;
  const auto scales = [](const char* name, std::vector<std::uint64_t> shape, std::uint64_t seed) {
    return filled(name, ScalarType::ue8m0, std::move(shape), {Init::Kind::uniform, 0.25, 4, seed, {}});
  };
  constexpr std::uint64_t rows = 130;
  c.buffers = {filled("A", ScalarType::e4m3, {2, rows, k}, {Init::Kind::integers, -3, 3, 1, {}}),
               filled("B", ScalarType::e4m3, {2, n, k}, {Init::Kind::integers, -3, 3, 2, {}}),
               filled("D", ScalarType::f32, {2, rows, n}), scales("SFA", {2, 2, 1, 512}, 3),
               scales("SFB", {2, 1, 1, 512}, 4)};
  Expectation gemm;
  gemm.output = "D", gemm.a = "A", gemm.b = "B", gemm.sfa = "SFA", gemm.sfb = "SFB", gemm.block = 32;
  c.expectations = {gemm};
  for (std::uint64_t i = 0; i < 2 * rows; ++i)
    for (std::uint64_t j = 0; j < n; ++j) {
      const std::uint64_t matrix = i / rows;
      const double scale = element(c.at("SFA"), matrix * 1024 + isa::scale_index(i % rows, 0, 1)) *
                           element(c.at("SFB"), matrix * 512 + isa::scale_index(j, 0, 1));
      store_element(c.at("D").bytes, ScalarType::f32, i * n + j,
                    quantise(ScalarType::f32, dot(c, i, j, matrix * n) * scale));
    }
  CHECK(of_d(c).pass);
  CHECK(compare_sample(c, gemm, {64, 1}).pass);

  // The same as groups that follow one another: the second one's scales begin with a chunk of its own.
  Init ends;
  ends.kind = Init::Kind::values;
  ends.values = {rows, 2 * rows};
  c.buffers.push_back(filled("ends", ScalarType::u32, {2}, ends));
  c.at("A").shape = {2 * rows, k}, c.at("D").shape = {2 * rows, n}, c.at("SFA").shape = {4, 1, 512};
  c.expectations[0].groups = "ends";
  CHECK(of_d(c).pass);
  CHECK(compare_sample(c, c.expectations[0], {64, 1}).pass);
  c.at("SFA").shape = {3, 1, 512};
  CHECK(contains(error_of([&] { (void)of_d(c); }), "buffer SFA: must have 4 chunks of rows at least"));
}

TEST_CASE("f32 scales are of 128 elements of a row of A, and of 128 x 128 of B") {
  constexpr std::uint64_t rows = 3, columns = 130, depth = 160;
  const auto e4m3 = [](const char* name, std::uint64_t of, std::uint64_t seed) {
    return filled(name, ScalarType::e4m3, {of, depth}, {Init::Kind::integers, -3, 3, seed, {}});
  };
  const auto scales = [](const char* name, std::uint64_t of, std::uint64_t seed) {
    return filled(name, ScalarType::f32, {of, 2}, {Init::Kind::uniform, 0.5, 2, seed, {}});
  };
  Contract c;
  c.buffers = {e4m3("A", rows, 1), e4m3("B", columns, 2), filled("D", ScalarType::f32, {rows, columns}),
               scales("SFA", rows, 3), scales("SFB", 2, 4)};
  Expectation gemm;
  gemm.output = "D", gemm.a = "A", gemm.b = "B", gemm.sfa = "SFA", gemm.sfb = "SFB", gemm.block = 128;
  c.expectations = {gemm};
  for (std::uint64_t i = 0; i < rows; ++i)
    for (std::uint64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::uint64_t x = 0; x < depth; ++x)
        sum += element(c.at("A"), i * depth + x) * element(c.at("B"), j * depth + x) *
               element(c.at("SFA"), i * 2 + x / 128) * element(c.at("SFB"), j / 128 * 2 + x / 128);
      store_element(c.at("D").bytes, ScalarType::f32, i * columns + j, quantise(ScalarType::f32, sum));
    }
  CHECK(of_d(c).pass);
  Contract padded = c;  // a row of scales may be longer than there are blocks
  padded.at("SFA") = filled("SFA", ScalarType::f32, {rows, 4});
  for (std::uint64_t i = 0; i < rows; ++i)
    for (std::uint64_t x = 0; x < 2; ++x)
      store_element(padded.at("SFA").bytes, ScalarType::f32, i * 4 + x,
                    quantise(ScalarType::f32, element(c.at("SFA"), i * 2 + x)));
  CHECK(of_d(padded).pass);
  store_element(c.at("D").bytes, ScalarType::f32, 129, quantise(ScalarType::f32, element(c.at("D"), 129) * 1.01 + 1));
  CHECK(of_d(c).wrong == 1);
  c.at("SFB").shape = {1, 2};
  CHECK(contains(error_of([&] { (void)of_d(c); }),
                 "buffer SFB: must be f32 [2 or more, 2 or more], a scale for each block"));
  c.at("SFB").shape = {2, 2};
  c.expectations[0].block = 32;
  CHECK(contains(error_of([&] { (void)of_d(c); }), "f32 scales go with blocks of 128; got 32"));
}

TEST_CASE("both matrices of a swiglu have scales of their own") {
  const auto e4m3 = [](const char* name, std::uint64_t of, std::uint64_t seed) {
    return filled(name, ScalarType::e4m3, {of, k}, {Init::Kind::integers, -1, 1, seed, {}});
  };
  const auto scales = [](const char* name, std::uint64_t seed) {
    return filled(name, ScalarType::ue8m0, {1, 1, 512}, {Init::Kind::uniform, 0.1, 0.9, seed, {}});
  };
  Contract c;
  c.buffers = {e4m3("A", m, 1),  e4m3("Gate", n, 2),  e4m3("Up", n, 3), filled("D", ScalarType::f32, {m, n}),
               scales("SFA", 4), scales("SFGate", 5), scales("SFUp", 6)};
  Expectation e;
  e.kind = Expectation::Kind::swiglu;
  e.output = "D", e.a = "A", e.b = "Gate", e.c = "Up";
  e.sfa = "SFA", e.sfb = "SFGate", e.sfc = "SFUp", e.block = 32;
  c.expectations = {e};
  const auto product = [&](const char* of, const char* scale, std::uint64_t i, std::uint64_t j) {
    double sum = 0;
    for (std::uint64_t x = 0; x < k; ++x) sum += element(c.at("A"), i * k + x) * element(c.at(of), j * k + x);
    return sum * element(c.at("SFA"), isa::scale_index(i, 0, 1)) * element(c.at(scale), isa::scale_index(j, 0, 1));
  };
  for (std::uint64_t i = 0; i < m; ++i)
    for (std::uint64_t j = 0; j < n; ++j) {
      const double gate = product("Gate", "SFGate", i, j);
      store_element(c.at("D").bytes, ScalarType::f32, i * n + j,
                    quantise(ScalarType::f32, gate / (1 + std::exp(-gate)) * product("Up", "SFUp", i, j)));
    }
  CHECK(of_d(c).pass);
  std::swap(c.expectations[0].sfb, c.expectations[0].sfc);
  CHECK_FALSE(of_d(c).pass);
  c.expectations[0].sfc.clear();
  CHECK(contains(error_of([&] { (void)of_d(c); }), "sfa and sfb come together"));
}

TEST_CASE("a buffer that a quantisation fills says so, and is not filled by anything else") {
  Contract c;
  c.buffers = {test::buffer("A", ScalarType::e4m3, {m, k}, {Init::Kind::normal, 0, 1, 1, {}})};
  launch::quantise(c, "A", {.scales = "SFA", .block = 32});
  CHECK(c.at("SFA").init.kind == Init::Kind::quantised);
  fill(c);
  CHECK(c.at("SFA").bytes.size() == c.at("SFA").size());
  const Contract read = read_contract(R"({"block": [32], "buffers": {"A": {"dtype": "e4m3", "shape": [5, 32],
    "init": {"quantised": {"normal": 1}, "scales": "SFA", "block": 32}},
    "SFA": {"dtype": "ue8m0", "shape": [1, 1, 512]}}})",
                                      "l.json");
  CHECK(read.at("SFA").init.kind == Init::Kind::quantised);
}

TEST_CASE("what is quantised or normed, and with what, is asked of a contract") {
  const auto refused = [](auto change) {
    Contract c = mxf8();
    change(c);
    return error_of([&] { (void)of_d(c); });
  };
  CHECK(contains(refused([](Contract& c) { c.at("SFD").dtype = ScalarType::ue4m3; }),
                 "buffer D: e4m3 is not quantised with ue4m3 scales"));
  CHECK(contains(refused([](Contract& c) { c.at("SFD").shape = {1, 512}; }), "buffer SFD [1, 512] must be at least"));
  CHECK(contains(refused([](Contract& c) { c.at("B").shape[0] = 48, c.at("D").shape[1] = 48; }),
                 "a block of 32 does not divide the 48 columns of D"));
  Contract c = mxf8();
  c.expectations.erase(c.expectations.begin());
  CHECK(contains(error_of([&] { (void)compare(c, c.expectations[0]); }),
                 "SFD is to hold the scales of D: a gemm of D must have \"sfd\": \"SFD\""));
  c = mxf8();
  c.expectations[0].norm = 1e-5;
  c.at("A").shape = {k, m};
  c.expectations[0].a_transposed = true;
  CHECK(contains(error_of([&] { (void)of_d(c); }), "rows of A are normed where they are plain floats"));
}

TEST_CASE("a contract with such results survives its JSON") {
  Contract c = mxf8();
  c.expectations[0].norm = 0.25;
  launch::Launch launch;
  launch.block = {128, 1, 1};
  c.launches = {launch};
  const std::string json = write_contract(c);
  CHECK(contains(json, R"("scales_of": "D")"));
  CHECK(write_contract(read_contract(json, "c.json")) == json);
}

}  // namespace kiln::harness::quantised_tests
