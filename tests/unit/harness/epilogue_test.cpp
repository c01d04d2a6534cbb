// What follows the sums of a gemm: its value, what it may be off by, what is refused.
#include "harness/problem/epilogue.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <numbers>

#include "harness/compare/compare.hpp"
#include "harness/compare/reference.hpp"
#include "harness/problem/element.hpp"
#include "tests/unit/harness/buffer.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::epilogue_tests {
namespace {

using isa::ScalarType;
using launch::Activation;
using launch::Buffer;
using launch::Contract;
using launch::Expectation;
using test::contains;
using test::error_of;
using test::normal;

constexpr std::uint64_t rows = 6, columns = 10, depth = 32;

// D = gelu_tanh(ALPHA * A * B^T + BETA * C + BIAS), as an honest f32 program has it.
Contract problem() {
  Contract c;
  c.buffers = {normal("A", ScalarType::bf16, {rows, depth}, 1),
               normal("B", ScalarType::bf16, {columns, depth}, 2),
               normal("C", ScalarType::bf16, {rows, columns}, 3),
               normal("ALPHA", ScalarType::f32, {1}, 4),
               normal("BETA", ScalarType::f32, {1}, 5),
               normal("BIAS", ScalarType::f32, {columns}, 6),
               test::filled("D", ScalarType::f32, {rows, columns})};
  const auto number = [&](std::size_t buffer, std::uint64_t i) {
    const Buffer& b = c.buffers[buffer];
    return float(test::element(b, i));
  };
  for (std::uint64_t i = 0; i < rows * columns; ++i) {
    float sum = 0;
    for (std::uint64_t k = 0; k < depth; ++k)
      sum += number(0, i / columns * depth + k) * number(1, i % columns * depth + k);
    const float x = std::fma(number(4, 0), number(2, i), number(3, 0) * sum) + number(5, i % columns);
    const float u = std::sqrt(2 / std::numbers::pi_v<float>) * (x + 0.044715f * x * x * x);
    store_element(c.buffers.back().bytes, ScalarType::f32, i, std::bit_cast<std::uint32_t>(x / (1 + std::exp(-2 * u))));
  }
  Expectation e;
  e.output = "D", e.a = "A", e.b = "B", e.c = "C", e.beta = "BETA", e.bias = "BIAS";
  e.factors = {"ALPHA"};
  e.activation = Activation::gelu_tanh;
  c.expectations = {e};
  return c;
}

Comparison compared(const Contract& c) { return compare(c, c.expectations[0]); }

std::string refusal(void (*spoil)(Contract&)) {
  Contract c = problem();
  spoil(c);
  return error_of([&] { compared(c); });
}

}  // namespace

TEST_CASE("activations have their published values") {
  CHECK(activated(Activation::relu, -3) == 0);
  CHECK(activated(Activation::relu, 3) == 3);
  CHECK(activated(Activation::relu, std::nan("")) == 0);
  CHECK(activated(Activation::silu, 1) == doctest::Approx(0.7310585786300049).epsilon(1e-14));
  CHECK(activated(Activation::silu, -2) == doctest::Approx(-0.2384058440442351).epsilon(1e-14));
  CHECK(activated(Activation::gelu_tanh, 1) == doctest::Approx(0.8411919906082768).epsilon(1e-14));
  CHECK(activated(Activation::gelu_tanh, -1) == doctest::Approx(-0.15880800939172324).epsilon(1e-14));
  for (double x = -5; x < 5; x += 0.17) {
    const double tanh_form = x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    CHECK(activated(Activation::gelu_tanh, x) == doctest::Approx(tanh_form).epsilon(1e-7));
  }
}

TEST_CASE("the bound of an activation holds for f32 with functions off by two units, and is not much more") {
  for (const Activation a : {Activation::silu, Activation::gelu_tanh})
    for (float x = -40; x < 40; x += 0.0371f)
      for (const float off : {1 - 0x1p-22f, 1 + 0x1p-22f}) {
        const float y = a == Activation::silu ? x : x * std::fma(x * x, 1.5957691216f * 0.044715f, 1.5957691216f);
        const float power = float(std::exp2(double(y * -std::numbers::log2e_v<float>))) * off;
        const float got = x * (float(1 / double(1 + power)) * off);
        const Estimate e = after_epilogue({nullptr, nullptr, nullptr, a}, {double(x), 0}, 0, 0);
        CAPTURE(x);
        CHECK(std::abs(double(got) - e.value) <= e.error * (1 + 1e-12));
        if (std::abs(x) < 4) CHECK(e.error < 1e-5 * std::abs(e.value) + 1e-30);
      }
}

TEST_CASE("an error of the sum grows by no more than the steepest slope") {
  for (const Activation a : {Activation::relu, Activation::silu, Activation::gelu_tanh})
    for (double x = -6; x < 6; x += 0.01) {
      const Estimate e = after_epilogue({nullptr, nullptr, nullptr, a}, {x, 0.01}, 0, 0);
      CHECK(std::abs(activated(a, x + 0.01) - e.value) <= e.error * (1 + 1e-12));
      CHECK(std::abs(activated(a, x - 0.01) - e.value) <= e.error * (1 + 1e-12));
    }
}

TEST_CASE("each step of an epilogue is looked at") {
  const Contract right = problem();
  CHECK(compared(right).pass);
  CHECK(contains(compared(right).argument, "then + beta * C"));
  void (*const spoils[])(Expectation&) = {[](Expectation& e) { e.beta.clear(); },
                                          [](Expectation& e) { e.bias.clear(); },
                                          [](Expectation& e) { e.factors.clear(); },
                                          [](Expectation& e) { e.c.clear(), e.beta.clear(); },
                                          [](Expectation& e) { e.activation = Activation::none; },
                                          [](Expectation& e) { e.activation = Activation::relu; },
                                          [](Expectation& e) { e.activation = Activation::silu; }};
  for (const auto spoil : spoils) {
    Contract c = problem();
    spoil(c.expectations[0]);
    CHECK_FALSE(compared(c).pass);
  }
}

TEST_CASE("an epilogue whose buffers do not fit is refused") {
  CHECK(refusal([](Contract& c) {
          c.find("C")->shape = {columns, rows};
        }) == "buffer C: C must be 6 x 10 floats; it is bf16 [10, 6]");
  CHECK(refusal([](Contract& c) { c.expectations[0].c.clear(); }) == "beta multiplies C, and there is none");
  CHECK(refusal([](Contract& c) { c.expectations[0].beta = "BIAS"; }) == "buffer BIAS: beta is one f32; got f32 [10]");
  CHECK(refusal([](Contract& c) { c.expectations[0].bias = "ALPHA"; }) ==
        "buffer ALPHA: a bias is 10 floats, one a column; got f32 [1]");
  CHECK(refusal([](Contract& c) { c.expectations[0].bias = "X"; }) == "there is no buffer X");
}

}  // namespace kiln::harness::epilogue_tests
