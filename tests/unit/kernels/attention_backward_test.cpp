// The forward pass of attention and both kernels of the backward pass, one after the other in the simulator: gradients
// against those of plain arithmetic, which knows nothing of the numbers that the kernels hand to each other.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "dsl/entry.hpp"
#include "harness/problem/element.hpp"
#include "harness/problem/fill.hpp"
#include "kernels/by_hand.hpp"
#include "sim/simulate.hpp"

namespace attention_backward_test {

using namespace kiln;

constexpr std::uint64_t heads = 2, m = 40, n = 72, head = 128;

// Runs a kernel's problem; of its buffers those are given that `known` has, and it has all of them afterwards.
template <class Build, class Problem>
void run(const Build& build, const Problem& problem, const dsl::Sizes& sizes, std::vector<launch::Buffer>& known) {
  const dsl::Kernel kernel = build(isa::sm_90a, sizes);
  launch::Contract c = problem(kernel, sizes);
  harness::fill(c);
  for (const launch::Buffer& b : known)
    if (launch::Buffer* mine = c.find(b.name)) mine->bytes = b.bytes;
  diag::Sink sink;
  REQUIRE(sim::simulate(kernel.module, c, {}, sink).outcome == sim::Outcome::finished);
  CHECK(sink.all().empty());
  known.insert(known.begin(), c.buffers.begin(), c.buffers.end());
}

double number(const std::vector<launch::Buffer>& known, const char* name, std::uint64_t index) {
  for (const launch::Buffer& b : known)
    if (b.name == name) return harness::element_value(b.dtype, harness::load_element(b.bytes, b.dtype, index));
  FAIL("no buffer ", name);
  return 0;
}

// The distance of two lists in units of the root of the mean square of what is wanted.
double distance(const std::vector<launch::Buffer>& known, const char* name, const std::vector<double>& want) {
  double most = 0, squares = 0;
  for (std::uint64_t i = 0; i < want.size(); ++i) {
    most = std::max(most, std::abs(number(known, name, i) - want[i]));
    squares += want[i] * want[i];
  }
  return most / std::sqrt(squares / double(want.size()));
}

// dQ, dK and dV of sum(O * dO), by the rules of calculus; both heads of Q share one of K and V.
struct Gradients {
  std::vector<double> q = std::vector<double>(heads * m * head), k = std::vector<double>(n * head), v = k;
};
Gradients plain(const std::vector<launch::Buffer>& known, bool causal) {
  Gradients of;
  const double scale = 1 / std::sqrt(double(head));
  for (std::uint64_t h = 0; h < heads; ++h)
    for (std::uint64_t i = 0; i < m; ++i) {
      const std::uint64_t row = (h * m + i) * head, end = causal ? n - m + i + 1 : n;
      std::vector<double> weights(end), products(end);
      double sum = 0, mean = 0;
      for (std::uint64_t j = 0; j < end; ++j) {
        double score = 0;
        for (std::uint64_t x = 0; x < head; ++x) {
          score += number(known, "Q", row + x) * number(known, "K", j * head + x);
          products[j] += number(known, "dO", row + x) * number(known, "V", j * head + x);
        }
        sum += weights[j] = std::exp(scale * score);
      }
      for (std::uint64_t j = 0; j < end; ++j) mean += (weights[j] /= sum) * products[j];
      for (std::uint64_t j = 0; j < end; ++j)
        for (std::uint64_t x = 0; x < head; ++x) {
          const double of_score = scale * weights[j] * (products[j] - mean);
          of.q[row + x] += of_score * number(known, "K", j * head + x);
          of.k[j * head + x] += of_score * number(known, "Q", row + x);
          of.v[j * head + x] += weights[j] * number(known, "dO", row + x);
        }
    }
  return of;
}

TEST_CASE("the kernels of the backward pass give the gradients of what the forward pass computes") {
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    dsl::Sizes sizes{{"m", m}, {"n", n}, {"heads", heads}, {"sharing", heads}, {"log-sums", 1}};
    std::vector<launch::Buffer> known;
    if (causal)
      run(kernels::attention_wgmma_causal, kernels::attention_wgmma_causal_problem, sizes, known);
    else
      run(kernels::attention_wgmma, kernels::attention_wgmma_problem, sizes, known);
    sizes["causal"] = std::uint64_t(causal);
    run(kernels::attention_wgmma_backward_q, kernels::attention_wgmma_backward_q_problem, sizes, known);
    run(kernels::attention_wgmma_backward_kv, kernels::attention_wgmma_backward_kv_problem, sizes, known);
    const Gradients want = plain(known, causal);
    CHECK(distance(known, "dQ", want.q) < 0.03);
    CHECK(distance(known, "dK", want.k) < 0.03);
    CHECK(distance(known, "dV", want.v) < 0.03);
  }
}

}  // namespace attention_backward_test
