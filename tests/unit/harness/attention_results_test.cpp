// What attention has beside O, and its gradients, as a contract expects them: against plain arithmetic that rounds
// where a kernel does.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "harness/compare/compare.hpp"
#include "harness/contract/contract_json.hpp"
#include "tests/unit/harness/buffer.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace attention_results_test {

using namespace kiln;
using namespace kiln::harness;
using isa::ScalarType;
using launch::AttentionResult;
using launch::Contract;
using launch::Expectation;

constexpr std::uint64_t heads = 4, sharing = 2, m = 9, n = 20, k = 16, l = 8, places = 12;
const double scale = 1 / std::sqrt(double(k));

// The whole backward pass; every result has a buffer.
Contract contract(bool causal) {
  Contract c;
  c.buffers = {test::normal("Q", ScalarType::bf16, {heads, m, k}, 1),
               test::normal("K", ScalarType::bf16, {heads / sharing, n, k}, 2),
               test::normal("V", ScalarType::bf16, {heads / sharing, n, l}, 3),
               test::normal("O", ScalarType::bf16, {heads, m, l}, 4),
               test::normal("dO", ScalarType::bf16, {heads, m, l}, 5),
               test::normal("log_sums", ScalarType::f32, {heads, m}, 6),
               test::filled("row_terms", ScalarType::f32, {heads, places, 2}),
               test::filled("dQ", ScalarType::bf16, {heads, m, k}),
               test::filled("dK", ScalarType::bf16, {heads / sharing, n, k}),
               test::filled("dV", ScalarType::f32, {heads / sharing, n, l}),
               test::filled("found", ScalarType::f32, {heads, m})};
  const auto expect = [&](const char* output, AttentionResult result) -> Expectation& {
    Expectation e;
    e.kind = Expectation::Kind::attention;
    e.output = output, e.a = "Q", e.b = "K", e.c = "V", e.causal = causal, e.result = result;
    c.expectations.push_back(e);
    return c.expectations.back();
  };
  expect("found", AttentionResult::log_sums);
  for (const auto& [output, result] :
       {std::pair("row_terms", AttentionResult::row_terms), std::pair("dQ", AttentionResult::dq)}) {
    Expectation& e = expect(output, result);
    e.o = "O", e.d_o = "dO", e.log_sums = "log_sums";
  }
  for (const auto& [output, result] : {std::pair("dK", AttentionResult::dk), std::pair("dV", AttentionResult::dv)}) {
    Expectation& e = expect(output, result);
    e.d_o = "dO", e.row_terms = "row_terms";
  }
  return c;
}

double at(const Contract& c, const char* buffer, std::uint64_t head, std::uint64_t row, std::uint64_t column) {
  const launch::Buffer& b = c.at(buffer);
  return test::element(b, (head * b.shape[1] + row) * b.shape[2] + column);
}
void put(Contract& c, const char* buffer, std::uint64_t index, double value) {
  launch::Buffer& b = c.at(buffer);
  store_element(b.bytes, b.dtype, index, quantise(b.dtype, value));
}
double rounded(double x) { return element_value(ScalarType::bf16, quantise(ScalarType::bf16, x)); }

// What a kernel might get wrong.
struct Mistake {
  std::function<double(double weight, std::uint64_t row, std::uint64_t key)> weight = [](double w, std::uint64_t,
                                                                                         std::uint64_t) { return w; };
  std::uint64_t heads_of_sum = sharing;
  double of_scale = 1, of_dot = 1;
};

void run(Contract& c, const Mistake& mistake = {}) {
  const bool causal = c.expectations[0].causal;
  std::vector<double> d_k(heads / sharing * n * k), d_v(heads / sharing * n * l);
  for (std::uint64_t h = 0; h < heads; ++h) {
    const std::uint64_t of_k = h / sharing;
    for (std::uint64_t i = 0; i < m; ++i) {
      const std::uint64_t end = causal ? n - m + i + 1 : n;
      const double log_sum = test::element(c.at("log_sums"), h * m + i);
      double dot = 0, sum = 0;
      for (std::uint64_t x = 0; x < l; ++x) dot += at(c, "O", h, i, x) * at(c, "dO", h, i, x);
      dot *= mistake.of_dot;
      std::vector<double> d_q(k);
      for (std::uint64_t j = 0; j < end; ++j) {
        double score = 0, product = 0;
        for (std::uint64_t x = 0; x < k; ++x) score += at(c, "Q", h, i, x) * at(c, "K", of_k, j, x);
        for (std::uint64_t x = 0; x < l; ++x) product += at(c, "dO", h, i, x) * at(c, "V", of_k, j, x);
        sum += std::exp(scale * score);
        const double weight = mistake.weight(std::exp(scale * score - log_sum), i, j);
        const double gradient = rounded(weight * (product - dot));
        for (std::uint64_t x = 0; x < k; ++x) d_q[x] += gradient * at(c, "K", of_k, j, x);
        if (h % sharing >= mistake.heads_of_sum) continue;
        for (std::uint64_t x = 0; x < k; ++x) d_k[(of_k * n + j) * k + x] += gradient * at(c, "Q", h, i, x);
        for (std::uint64_t x = 0; x < l; ++x) d_v[(of_k * n + j) * l + x] += rounded(weight) * at(c, "dO", h, i, x);
      }
      put(c, "found", h * m + i, std::log(sum));
      put(c, "row_terms", (h * places + i) * 2, log_sum / std::log(2.0));
      put(c, "row_terms", (h * places + i) * 2 + 1, dot);
      for (std::uint64_t x = 0; x < k; ++x) put(c, "dQ", (h * m + i) * k + x, d_q[x] * scale * mistake.of_scale);
    }
    for (std::uint64_t i = m; i < places; ++i) {
      put(c, "row_terms", (h * places + i) * 2, launch::no_row);
      put(c, "row_terms", (h * places + i) * 2 + 1, 0);
    }
  }
  for (std::uint64_t i = 0; i < d_k.size(); ++i) put(c, "dK", i, d_k[i] * scale * mistake.of_scale);
  for (std::uint64_t i = 0; i < d_v.size(); ++i) put(c, "dV", i, d_v[i]);
}

// The outputs that are wrong.
std::string wrong(const Contract& c) {
  std::string names;
  for (const Expectation& e : c.expectations)
    if (!compare(c, e).pass) names += (names.empty() ? "" : ", ") + e.output;
  return names;
}
std::string wrong_with(bool causal, const Mistake& mistake) {
  Contract c = contract(causal);
  run(c, mistake);
  return wrong(c);
}

TEST_CASE("gradients of attention, rounded where a kernel rounds, are right, with heads that share keys too") {
  CHECK(wrong_with(false, {}) == "");
  CHECK(wrong_with(true, {}) == "");
}

TEST_CASE("a key left out, a head left out of a sum, a wrong scale and a wrong dot are found") {
  Mistake key, late, head, scaled, dot;
  key.weight = [](double w, std::uint64_t i, std::uint64_t j) { return i == 3 && j == 7 ? 0 : w; };
  CHECK(wrong_with(false, key) == "dQ, dK, dV");
  late.weight = [](double w, std::uint64_t i, std::uint64_t j) { return j == n - m + i ? 0 : w; };  // its own position
  CHECK(wrong_with(true, late) == "dQ, dK, dV");
  head.heads_of_sum = 1;
  CHECK(wrong_with(false, head) == "dK, dV");
  scaled.of_scale = 1.03;
  CHECK(wrong_with(false, scaled) == "dQ, dK");
  dot.of_dot = 1.01;
  CHECK(wrong_with(false, dot) == "row_terms, dQ");  // dK follows from the wrong terms as it must
}

TEST_CASE("what follows the last row of row_terms is so that no key weighs anything") {
  Contract c = contract(false);
  run(c);
  put(c, "row_terms", (places - 1) * 2, 0);
  CHECK(wrong(c) == "row_terms");
}

TEST_CASE("a log_sum off by a thousandth is wrong") {
  Contract c = contract(true);
  run(c);
  put(c, "found", 5, test::element(c.at("found"), 5) + 1e-3);
  CHECK(wrong(c) == "found");
}

std::string contract_with(const std::string& expectation) {
  return R"({"grid": [1, 1, 1], "block": [1, 1, 1], "params": [],
             "buffers": {"Q": {"dtype": "bf16", "shape": [4, 8]}, "K": {"dtype": "bf16", "shape": [6, 8]},
             "O": {"dtype": "bf16", "shape": [4, 8]}, "L": {"dtype": "f32", "shape": [4]},
             "R": {"dtype": "f32", "shape": [6, 2]}, "S": {"dtype": "u32", "shape": [3]}}, "expect": )" +
         expectation + "}";
}
Contract read(const std::string& expectation) { return read_contract(contract_with(expectation), "l.json"); }
std::string error_for(const std::string& inside) {
  return test::error_of([&] { read(R"({"O": {"attention": {"q": "Q", "k": "K", "v": "K", )" + inside + "}}}"); });
}

TEST_CASE("results of attention are read, and written as they were read") {
  for (
      const char* result :
      {R"({"L": {"attention": {"q": "Q", "k": "K", "v": "K", "causal": true, "result": "log_sums"}}})",
       R"({"R": {"attention": {"q": "Q", "k": "K", "v": "K", "result": "row_terms", "o": "O", "do": "O", )"
        R"("log_sums": "L"}}})",
       R"({"O": {"attention": {"q": "Q", "k": "K", "v": "K", "result": "dq", "o": "O", "do": "O", "log_sums": "L"}}})",
       R"({"K": {"attention": {"q": "Q", "k": "K", "v": "K", "result": "dk", "do": "O", "row_terms": "R"}}})",
       R"({"K": {"attention": {"q": "Q", "k": "K", "v": "K", "result": "dv", "do": "O", "row_terms": "R"}}})"}) {
    const std::string text = result;
    CAPTURE(text);
    CHECK(test::contains(write_contract(read(text)), text.substr(1, text.size() - 2)));
  }
}

TEST_CASE("results that lack a buffer, have one too many, or do not fit are refused") {
  CHECK(test::contains(error_for(R"("result": "dx")"), "must be o, log_sums, row_terms, dq, dk or dv; got \"dx\""));
  CHECK(test::contains(error_for(R"("result": "dq", "o": "O", "do": "O")"), "dq needs log_sums"));
  CHECK(test::contains(error_for(R"("result": "dq", "o": "O", "do": "O", "log_sums": "L", "row_terms": "R")"),
                       "dq is computed without row_terms"));
  CHECK(test::contains(error_for(R"("do": "O")"), "o is computed without o, do, log_sums and row_terms"));
  CHECK(test::contains(error_for(R"("result": "dk", "do": "O", "row_terms": "R")"),
                       "buffer O: must be [6, 8] of bf16; it is [4, 8] of bf16"));
  CHECK(test::contains(error_for(R"("result": "dq", "o": "O", "do": "K", "log_sums": "L")"),
                       "buffer K: must be [4, 8] of bf16"));
  CHECK(test::contains(error_for(R"("result": "dv", "do": "O", "row_terms": "L")"), "buffer L: must be [4, 2] of f32"));
  CHECK(test::contains(error_for(R"("result": "log_sums", "row_offsets": "S", "key_offsets": "S")"),
                       "log_sums is a result of whole heads: no pages, offsets or window"));
}

}  // namespace attention_results_test
