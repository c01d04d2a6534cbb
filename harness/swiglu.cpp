#include <fmt/format.h>

#include <cmath>

#include "harness/composed.hpp"
#include "harness/gemm_problem.hpp"

namespace kiln::harness {
namespace {

// The slope of silu is nowhere steeper.
constexpr double steepest = 1.1;

// The product of A with one of the two others, as a gemm that leaves f32.
launch::Expectation factor(const launch::Expectation& e, const std::string& b) {
  launch::Expectation product = e;
  product.kind = launch::Expectation::Kind::gemm;
  product.b = b;
  product.c.clear();
  return product;
}

double silu(double x) { return x / (1 + std::exp(-x)); }

struct Factor {
  Product product;
  Tolerance tolerance;
  double error(std::size_t i) const { return tolerance.bound(0, product.scale.at[i]); }
};
Factor factor_of(const launch::Contract& contract, const launch::Expectation& e, Accumulation accumulation) {
  const GemmProblem p = gemm_problem(contract, e);
  GemmArithmetic arithmetic = p.arithmetic();
  arithmetic.output = isa::ScalarType::f32;  // it is not rounded before it is used
  return {product_of(p), derive_tolerance(arithmetic, accumulation)};
}

// silu(g) * u, and what it may be off by when g and u are off by so much.
struct Element {
  double value = 0, bound = 0;
};
Element element_of(double g, double of_g, double u, double of_u) {
  const double s = silu(g),
               sigmoid = ex2_error + rcp_error + 2 * f32_rounding + 2 * f32_rounding * (std::abs(g) + of_g);
  const double moved = steepest * of_g;
  const double of_s = moved + (std::abs(s) + moved) * sigmoid + 2 * f32_flushed * (std::abs(g) + of_g);
  const double bound = std::abs(s) * of_u + std::abs(u) * of_s + of_s * of_u;
  return {s * u, bound + f32_rounding * (std::abs(s * u) + bound)};
}

}  // namespace

void check_swiglu(const launch::Contract& contract, const launch::Expectation& e) {
  gemm_problem(contract, factor(e, e.b));
  gemm_problem(contract, factor(e, e.c));
}

Composed swiglu_of(const launch::Contract& contract, const launch::Expectation& e, Accumulation accumulation) {
  check_swiglu(contract, e);
  const Factor gate = factor_of(contract, factor(e, e.b), accumulation);
  const Factor up = factor_of(contract, factor(e, e.c), accumulation);
  const Tolerance output = rounding_tolerance(contract.find(e.output)->dtype);
  const Matrix &g = gate.product.value, &u = up.product.value;
  Composed out{{g.rows, g.columns, {}}, {g.rows, g.columns, {}}, {}};
  for (std::size_t i = 0; i < g.at.size(); ++i) {
    const Element element = element_of(g.at[i], gate.error(i), u.at[i], up.error(i));
    out.value.at.push_back(element.value);
    out.bound.at.push_back(element.bound + output.bound(std::abs(element.value) + element.bound, 0));
  }
  out.argument = fmt::format("each product off by {:.2g} of its sum |a||b|; then silu, {:.2g} and 2^-23 of |x|{}",
                             gate.tolerance.of_scale, ex2_error + rcp_error + 2 * f32_rounding, output.argument);
  return out;
}

}  // namespace kiln::harness
