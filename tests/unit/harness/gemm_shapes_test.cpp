// Gemms whose operands are transposed, and batches of them, against plain loops.
#include <doctest/doctest.h>

#include <bit>

#include "harness/compare/compare.hpp"
#include "harness/compare/reference.hpp"
#include "harness/contract/contract_json.hpp"
#include "harness/problem/element.hpp"
#include "harness/problem/parts.hpp"
#include "tests/unit/harness/buffer.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::gemm_shapes_tests {
namespace {

using isa::ScalarType;
using launch::Buffer;
using launch::Contract;
using launch::Expectation;
using launch::Init;
using test::contains;
using test::element;
using test::error_of;

constexpr std::uint64_t m = 5, n = 6, k = 16;

Buffer integers(const char* name, std::vector<std::uint64_t> shape, std::uint64_t seed) {
  return test::filled(name, ScalarType::bf16, std::move(shape), {Init::Kind::integers, -4, 4, seed, {}});
}

// D, exact in f32, of operands whose elements are found at these places.
template <class A, class B>
Contract problem(std::vector<Buffer> operands, std::uint64_t matrices, std::vector<std::uint64_t> shape, A a_at,
                 B b_at) {
  Contract c;
  c.buffers = std::move(operands);
  c.buffers.push_back(test::filled("D", ScalarType::f32, std::move(shape)));
  for (std::uint64_t l = 0; l < matrices; ++l)
    for (std::uint64_t i = 0; i < m; ++i)
      for (std::uint64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::uint64_t x = 0; x < k; ++x)
          sum += element(c.buffers[0], l * m * k + a_at(i, x)) * element(c.buffers[1], l * n * k + b_at(j, x));
        store_element(c.buffers[2].bytes, ScalarType::f32, (l * m + i) * n + j,
                      std::bit_cast<std::uint32_t>(float(sum)));
      }
  Expectation e;
  e.output = "D", e.a = "A", e.b = "B";
  c.expectations = {e};
  return c;
}

Contract transposed() {
  Contract c = problem(
      {integers("A", {k, m}, 1), integers("B", {k, n}, 2)}, 1, {m, n},
      [](std::uint64_t i, std::uint64_t x) { return x * m + i; },
      [](std::uint64_t j, std::uint64_t x) { return x * n + j; });
  c.expectations[0].a_transposed = c.expectations[0].b_transposed = true;
  return c;
}

Contract batch() {
  return problem(
      {integers("A", {3, m, k}, 1), integers("B", {3, n, k}, 2)}, 3, {3, m, n},
      [](std::uint64_t i, std::uint64_t x) { return i * k + x; },
      [](std::uint64_t j, std::uint64_t x) { return j * k + x; });
}

Comparison compared(const Contract& c) { return compare(c, c.expectations[0]); }

}  // namespace

TEST_CASE("operands may be stored transposed") {
  Contract c = transposed();
  CHECK(compared(c).pass);
  CHECK(compared(c).max_error == 0);
  std::swap(c.buffers[0].bytes[0], c.buffers[0].bytes[2 * m]);
  std::swap(c.buffers[0].bytes[1], c.buffers[0].bytes[2 * m + 1]);
  CHECK_FALSE(compared(c).pass);
  c = transposed();
  c.expectations[0].b_transposed = false;
  CHECK(error_of([&] { compared(c); }) == "A has K = 16, B has K = 6");
  c = transposed();
  c.buffers[0].init.quantised = launch::Quantisation{};
  CHECK(contains(error_of([&] { compared(c); }), "buffer A is transposed, which goes with no scales"));
}

TEST_CASE("each matrix of a batch is compared, and the worst element says which it is in") {
  Contract c = batch();
  CHECK(compared(c).pass);
  CHECK(compared(c).elements == 3 * m * n);
  store_element(c.buffers[2].bytes, ScalarType::f32, (2 * m + 1) * n + 4, 0x47000000);
  const Comparison wrong = compared(c);
  CHECK_FALSE(wrong.pass);
  CHECK(wrong.wrong == 1);
  CHECK(wrong.worst == std::vector<std::uint64_t>{2, 1, 4});
}

TEST_CASE("batches that do not agree, and what no batch has, are refused") {
  const auto refusal = [](void (*spoil)(Contract&)) {
    Contract c = batch();
    spoil(c);
    return error_of([&] { compared(c); });
  };
  CHECK(refusal([](Contract& c) {
          c.buffers[1].shape = {2, n, k};
        }) == "D is a batch of 3 matrices; B must be one too");
  CHECK(refusal([](Contract& c) { c.buffers[0].shape = {m, k}; }) == "D is a batch of 3 matrices; A must be one too");
  CHECK(contains(refusal([](Contract& c) { c.expectations[0].bias = "A"; }),
                 "no metadata, addend, bias, norm or scales of D"));
  CHECK(contains(refusal([](Contract& c) { c.buffers[0].init.quantised = launch::Quantisation{}; }), "not quantised"));
}

TEST_CASE("a transposed batch is read, and written back as it was") {
  const std::string text = R"({"block": [1], "buffers": {"A": {"dtype": "bf16", "shape": [2, 8, 4]},
    "B": {"dtype": "bf16", "shape": [2, 8, 6]}, "D": {"dtype": "f32", "shape": [2, 4, 6]}},
    "expect": {"D": {"gemm": {"a": "A", "b": "B", "a_transposed": true, "b_transposed": true}}}})";
  const Contract c = read_contract(text, "l.json");
  for (const Expectation& e : {c.expectations[0], read_contract(write_contract(c), "l.json").expectations[0]}) {
    CHECK(e.a_transposed);
    CHECK(e.b_transposed);
  }
}

}  // namespace kiln::harness::gemm_shapes_tests
