#include "harness/problem/epilogue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numbers>

#include "harness/problem/element.hpp"
#include "ptx/diag/refuse.hpp"

namespace kiln::harness {
namespace {

using launch::Activation;
using launch::Buffer;

constexpr double steepest = 1.13;  // no activation has a greater slope

double element(const Buffer& b, std::uint64_t index) {
  return element_value(b.dtype, load_element(b.bytes, b.dtype, index));
}

bool holds_numbers(const Buffer& b) { return is_addressable(b.dtype) && isa::is_floating(b.dtype); }

// The y of x / (1 + e^-y), and how many units of 2^-23 it is off by, times the factor that multiplies it in e^-y.
struct Exponent {
  double y = 0, units = 0;
};
Exponent exponent(Activation a, double x) {
  if (a == Activation::silu) return {x, 1};
  return {2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x), 3};
}

// Adds an f32 rounding of what stands there.
Estimate rounded(Estimate e) { return {e.value, e.error + f32_rounding * (std::abs(e.value) + e.error) + f32_least}; }

}  // namespace

Estimate after_activation(Activation a, const Estimate& x) {
  if (a == Activation::none) return x;
  Estimate out{activated(a, x.value), steepest * x.error};
  if (a == Activation::relu) return {out.value, x.error};
  const Exponent e = exponent(a, x.value);
  out.error += second_order * (e.units * std::abs(e.y) + 6) * 2 * f32_rounding * std::abs(out.value);
  out.error += f32_flushed * (1 + std::abs(x.value));
  return out;
}

std::string_view spelling(Activation a) {
  switch (a) {
    case Activation::none: return "none";
    case Activation::relu: return "relu";
    case Activation::gelu_tanh: return "gelu_tanh";
    case Activation::silu: return "silu";
  }
  return "";
}

void check_epilogue(const GemmEpilogue& e, std::uint64_t rows, std::uint64_t columns) {
  if (e.c && (e.c->shape != std::vector{rows, columns} || !holds_numbers(*e.c)))
    diag::refuse("buffer {}: C must be {} x {} floats; it is {} [{}]", e.c->name, rows, columns,
                 isa::spelling(e.c->dtype), fmt::join(e.c->shape, ", "));
  if (e.beta && !e.c) throw diag::InputError("beta multiplies C, and there is none");
  if (e.beta && (e.beta->dtype != isa::ScalarType::f32 || e.beta->elements() != 1))
    diag::refuse("buffer {}: beta is one f32; got {} [{}]", e.beta->name, isa::spelling(e.beta->dtype),
                 fmt::join(e.beta->shape, ", "));
  if (e.bias && (e.bias->elements() != columns || !holds_numbers(*e.bias)))
    diag::refuse("buffer {}: a bias is {} floats, one a column; got {} [{}]", e.bias->name, columns,
                 isa::spelling(e.bias->dtype), fmt::join(e.bias->shape, ", "));
}

double activated(Activation a, double x) {
  switch (a) {
    case Activation::none: return x;
    case Activation::relu: return x > 0 ? x : 0;  // as max.f32 has it: not NaN
    case Activation::gelu_tanh:
    case Activation::silu: return x / (1 + std::exp(-exponent(a, x).y));
  }
  return x;
}

Estimate after_epilogue(const GemmEpilogue& e, Estimate x, std::uint64_t row, std::uint64_t column) {
  if (e.c) {
    const double c = element(*e.c, row * e.c->shape[1] + column) * (e.beta ? element(*e.beta, 0) : 1);
    x = rounded({x.value + c, x.error + (e.beta ? f32_rounding * std::abs(c) + f32_least : 0)});
  }
  if (e.bias) x = rounded({x.value + element(*e.bias, column), x.error});
  return after_activation(e.activation, x);
}

std::string epilogue_argument(const GemmEpilogue& e) {
  std::string out;
  if (e.c) out += e.beta ? "; then + beta * C, 2^-24 of each" : "; then + C, 2^-24 of the sum";
  if (e.bias) out += "; then + bias, 2^-24 of the sum";
  return out + activation_argument(e.activation);
}

std::string activation_argument(Activation a) {
  if (a == Activation::none) return {};
  if (a == Activation::relu) return "; then relu";
  return fmt::format("; then {0}, whose slope is at most {1}, {2}|y| + 6 units of 2^-23 of its own for e^-y",
                     spelling(a), steepest, a == Activation::silu ? "" : "3");
}

}  // namespace kiln::harness
