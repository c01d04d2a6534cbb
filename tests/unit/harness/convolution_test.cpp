// What a contract expects of a convolution: against plain loops, and what is refused.
#include "harness/compare/composed.hpp"

#include <doctest/doctest.h>

#include "harness/compare/compare.hpp"
#include "harness/compare/reference.hpp"
#include "harness/contract/contract_json.hpp"
#include "harness/problem/element.hpp"
#include "harness/problem/fill.hpp"
#include "tests/unit/harness/buffer.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::convolution_tests {
namespace {

using isa::ScalarType;
using launch::Contract;
using test::contains;
using test::error_of;

constexpr std::uint64_t taps = 3, m = 2, n = 10, k = 4, sequence = 5;

std::string contract_with(const std::string& inside) {
  return R"({"block": [1], "buffers": {"W": {"dtype": "bf16", "shape": [3, 2, 4]},
             "X": {"dtype": "bf16", "shape": [10, 4]},
             "E": {"dtype": "bf16", "shape": [4, 2, 4]}, "F": {"dtype": "e2m1", "shape": [10, 4]},
             "D": {"dtype": "f32", "shape": [2, 10]}}, "expect": {"D": {"convolution": )" +
         inside + "}}}";
}
Contract read(const std::string& inside) { return read_contract(contract_with(inside), "l.json"); }

// With D as plain loops make it; `wide`: as if all positions were one sequence.
Contract computed(bool wide) {
  Contract c = read(R"({"weights": "W", "inputs": "X", "sequence": 5})");
  c.at("W") = test::normal("W", ScalarType::bf16, {taps, m, k}, 1);
  c.at("X") = test::normal("X", ScalarType::bf16, {n, k}, 2);
  fill(c.at("D"));
  const auto at = [&](const char* name, std::uint64_t i) {
    return element_value(ScalarType::bf16, load_element(c.at(name).bytes, ScalarType::bf16, i));
  };
  for (std::uint64_t row = 0; row < m; ++row)
    for (std::uint64_t p = 0; p < n; ++p) {
      double sum = 0;
      for (std::uint64_t t = 0; t < taps; ++t)
        for (std::uint64_t i = 0; i < k; ++i) {
          const std::uint64_t from = p + t;  // one too far
          const bool outside = from < 1 || from > n || (!wide && (from - 1) / sequence != p / sequence);
          if (!outside) sum += at("W", (t * m + row) * k + i) * at("X", (from - 1) * k + i);
        }
      store_element(c.at("D").bytes, ScalarType::f32, row * n + p, quantise(ScalarType::f32, sum));
    }
  return c;
}

TEST_CASE("a convolution sees zeros beyond its sequence") {
  const Contract right = computed(false), wide = computed(true);
  CHECK(compare(right, right.expectations[0]).pass);
  const Comparison c = compare(wide, wide.expectations[0]);
  CHECK(c.wrong == 2 * m);  // the two positions where sequences meet
  CHECK(c.expectation.kind == launch::Expectation::Kind::convolution);
}

TEST_CASE("a convolution is read, and written as it was read") {
  const Contract c = read(R"({"weights": "W", "inputs": "X", "sequence": 5})");
  CHECK(contains(write_contract(c), R"("convolution": {"weights": "W", "inputs": "X", "sequence": 5})"));
}

TEST_CASE("what is no convolution is refused") {
  const auto error_for = [](const std::string& inside) { return error_of([&] { read(inside); }); };
  CHECK(contains(error_for(R"({"weights": "W", "inputs": "X"})"), "/expect/D/convolution"));
  CHECK(contains(error_for(R"({"weights": "W", "inputs": "X", "sequence": 0})"), "10 positions are no sequences of 0"));
  CHECK(contains(error_for(R"({"weights": "W", "inputs": "X", "sequence": 3})"), "10 positions are no sequences of 3"));
  CHECK(contains(error_for(R"({"weights": "E", "inputs": "X", "sequence": 5})"), "4 taps have no middle one"));
  CHECK(contains(error_for(R"({"weights": "X", "inputs": "X", "sequence": 5})"), "weights have 3 extents"));
  CHECK(contains(error_for(R"({"weights": "W", "inputs": "W", "sequence": 5})"), "inputs have 2 extents"));
  CHECK(contains(error_for(R"({"weights": "W", "inputs": "D", "sequence": 5})"), "W has K = 4, D has K = 10"));
  CHECK(contains(error_for(R"({"weights": "W", "inputs": "F", "sequence": 5})"), "elements must be whole bytes"));
}

}  // namespace
}  // namespace kiln::harness::convolution_tests
