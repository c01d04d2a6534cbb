// Gemms of groups of rows, against plain loops.
#include "harness/problem/parts.hpp"

#include <doctest/doctest.h>

#include <bit>

#include "harness/compare/compare.hpp"
#include "harness/compare/reference.hpp"
#include "harness/contract/contract_json.hpp"
#include "harness/problem/element.hpp"
#include "tests/unit/harness/buffer.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::groups_tests {
namespace {

using isa::ScalarType;
using launch::Buffer;
using launch::Contract;
using launch::Init;
using test::contains;
using test::element;
using test::error_of;
using test::filled;

constexpr std::uint64_t m = 7, n = 5, k = 16;
constexpr std::uint32_t ends[] = {2, 2, 6};  // the last row belongs to no group

Buffer integers(const char* name, std::vector<std::uint64_t> shape, std::uint64_t seed) {
  return filled(name, ScalarType::bf16, std::move(shape), {Init::Kind::integers, -4, 4, seed, {}});
}

Contract grouped() {
  Init of_ends;
  of_ends.kind = Init::Kind::values;
  of_ends.values = {ends[0], ends[1], ends[2]};
  Contract c;
  c.buffers = {integers("A", {m, k}, 1), integers("B", {3, n, k}, 2), filled("D", ScalarType::f32, {m, n}),
               filled("ends", ScalarType::u32, {3}, of_ends)};
  for (std::uint64_t i = 0; i < ends[2]; ++i)
    for (std::uint64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::uint64_t x = 0; x < k; ++x)
        sum += element(c.buffers[0], i * k + x) * element(c.buffers[1], ((i < 2 ? 0 : 2) * n + j) * k + x);
      store_element(c.buffers[2].bytes, ScalarType::f32, i * n + j, std::bit_cast<std::uint32_t>(float(sum)));
    }
  c.expectations.emplace_back();
  c.expectations[0].output = "D", c.expectations[0].a = "A", c.expectations[0].b = "B";
  c.expectations[0].groups = "ends";
  return c;
}

Comparison compared(const Contract& c) { return compare(c, c.expectations[0]); }

}  // namespace

TEST_CASE("the rows of each group are multiplied by its own matrix; rows after the last group belong to no group") {
  Contract c = grouped();
  CHECK(compared(c).pass);
  CHECK(compared(c).max_error == 0);
  CHECK(compared(c).elements == 6 * n);
  store_element(c.buffers[2].bytes, ScalarType::f32, 4 * n + 3, 0x47000000);
  const Comparison wrong = compared(c);
  CHECK(wrong.wrong == 1);
  CHECK(wrong.worst == std::vector<std::uint64_t>{4, 3});
  c = grouped();
  store_element(c.buffers[3].bytes, ScalarType::u32, 0, 1);
  store_element(c.buffers[3].bytes, ScalarType::u32, 1, 1);  // row 1 is now the last group's
  CHECK_FALSE(compared(c).pass);
}

// Three matrices of four rows, of which 2, 0 and 4 count.
Contract masked() {
  constexpr std::uint64_t most = 4;
  Init of_lengths;
  of_lengths.kind = Init::Kind::values;
  of_lengths.values = {2, 0, 4};
  Contract c;
  c.buffers = {integers("A", {3, most, k}, 1), integers("B", {3, n, k}, 2), filled("D", ScalarType::f32, {3, most, n}),
               filled("lengths", ScalarType::u32, {3}, of_lengths)};
  for (const std::uint64_t row : {0, 1, 8, 9, 10, 11})
    for (std::uint64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::uint64_t x = 0; x < k; ++x)
        sum += element(c.buffers[0], row * k + x) * element(c.buffers[1], (row / most * n + j) * k + x);
      store_element(c.buffers[2].bytes, ScalarType::f32, row * n + j, std::bit_cast<std::uint32_t>(float(sum)));
    }
  c.expectations.emplace_back();
  c.expectations[0].output = "D", c.expectations[0].a = "A", c.expectations[0].b = "B";
  c.expectations[0].lengths = "lengths";
  return c;
}

TEST_CASE("of a batch with lengths as many rows of each matrix count, and the others may hold anything") {
  Contract c = masked();
  CHECK(compared(c).pass);
  CHECK(compared(c).elements == 6 * n);
  CHECK(compare_sample(c, c.expectations[0], {16, 1}).pass);
  store_element(c.buffers[2].bytes, ScalarType::f32, 2 * n, 0x47000000);  // row 2 of the first does not count
  CHECK(compared(c).pass);
  store_element(c.buffers[2].bytes, ScalarType::f32, 10 * n + 3, 0x47000000);
  const Comparison wrong = compared(c);
  CHECK(wrong.wrong == 1);
  CHECK(wrong.worst == std::vector<std::uint64_t>{2, 2, 3});
  store_element(c.buffers[3].bytes, ScalarType::u32, 1, 5);
  CHECK(contains(error_of([&] { compared(c); }), "buffer lengths: matrix 1 has 5 rows that count; must be in [0, 4]"));
  c = masked();
  c.expectations[0].groups = "lengths";
  CHECK(error_of([&] { compared(c); }) == "a gemm has groups or lengths, not both");
  c = masked();
  c.buffers[2].shape = {3, 3, n};
  CHECK(contains(error_of([&] { compared(c); }), "B has 3 matrices; A and D must have as many, of as many rows"));
}

TEST_CASE("groups that do not agree with the matrices, and what no group has, are refused") {
  const auto refusal = [](void (*spoil)(Contract&)) {
    Contract c = grouped();
    spoil(c);
    return error_of([&] { compared(c); });
  };
  CHECK(contains(refusal([](Contract& c) { store_element(c.buffers[3].bytes, ScalarType::u32, 1, 1); }),
                 "buffer ends: group 1 ends at row 1; must be in [2, 7]"));
  CHECK(contains(refusal([](Contract& c) { store_element(c.buffers[3].bytes, ScalarType::u32, 2, 8); }),
                 "group 2 ends at row 8; must be in [2, 7]"));
  CHECK(contains(refusal([](Contract& c) { c.buffers[3].shape = {2}; }),
                 "must be a u32 for each of the 3 matrices of B"));
  CHECK(contains(refusal([](Contract& c) { c.buffers[1].shape = {3 * n, k}; }), "must have 3 extents"));
  CHECK(contains(refusal([](Contract& c) { c.expectations[0].a_transposed = true; }), "no metadata, addend, norm"));
  CHECK(contains(refusal([](Contract& c) { c.buffers[0].init.quantised = launch::Quantisation{}; }), "not quantised"));
}

TEST_CASE("a gemm of groups is read, and written back as it was") {
  const std::string text = R"({"block": [1], "buffers": {"A": {"dtype": "bf16", "shape": [6, 8]},
    "B": {"dtype": "bf16", "shape": [2, 4, 8]}, "D": {"dtype": "f32", "shape": [6, 4]},
    "ends": {"dtype": "u32", "shape": [2], "init": {"values": [2, 6]}}},
    "expect": {"D": {"gemm": {"a": "A", "b": "B", "groups": "ends"}}}})";
  const Contract c = read_contract(text, "l.json");
  CHECK(c.expectations[0].groups == "ends");
  const Contract again = read_contract(write_contract(c), "l.json");
  CHECK(again.expectations[0].groups == "ends");
  CHECK(again.at("ends").init.values == std::vector<double>{2, 6});
  const std::string masked = R"({"block": [1], "buffers": {"A": {"dtype": "bf16", "shape": [2, 6, 8]},
    "B": {"dtype": "bf16", "shape": [2, 4, 8]}, "D": {"dtype": "f32", "shape": [2, 6, 4]},
    "lengths": {"dtype": "u32", "shape": [2], "init": {"values": [2, 6]}}},
    "expect": {"D": {"gemm": {"a": "A", "b": "B", "lengths": "lengths"}}}})";
  CHECK(read_contract(write_contract(read_contract(masked, "l.json")), "l.json").expectations[0].lengths == "lengths");
  const std::string flat = R"({"block": [1], "buffers": {"A": {"dtype": "bf16", "shape": [6, 8]},
    "B": {"dtype": "bf16", "shape": [4, 8]}, "D": {"dtype": "f32", "shape": [6, 4]},
    "ends": {"dtype": "u32", "shape": [2]}},
    "expect": {"D": {"gemm": {"a": "A", "b": "B", "groups": "ends"}}}})";
  CHECK(contains(error_of([&] { read_contract(flat, "l.json"); }), "/expect/D/gemm: buffer B: must have 3 extents"));
}

}  // namespace kiln::harness::groups_tests
