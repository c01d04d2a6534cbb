#include <fmt/format.h>

#include <cmath>

#include "harness/composed.hpp"
#include "harness/epilogue.hpp"
#include "harness/gemm_problem.hpp"

namespace kiln::harness {
namespace {

// The product of A with one of the two others, as a gemm that leaves f32.
launch::Expectation factor(const launch::Expectation& e, const std::string& b) {
  launch::Expectation product = e;
  product.kind = launch::Expectation::Kind::gemm;
  product.b = b;
  product.c.clear();
  return product;
}

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

// silu(g) * u.
Estimate joined(const Estimate& g, const Estimate& u) {
  const Estimate s = after_activation(launch::Activation::silu, g);
  const double value = s.value * u.value;
  const double error = std::abs(s.value) * u.error + std::abs(u.value) * s.error + s.error * u.error;
  return {value, error + f32_rounding * (std::abs(value) + error)};
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
  const Tolerance output = rounding_tolerance(contract.at(e.output).dtype);
  const Matrix &g = gate.product.value, &u = up.product.value;
  Composed out{{g.rows, g.columns, {}}, {g.rows, g.columns, {}}, {}};
  for (std::size_t i = 0; i < g.at.size(); ++i) {
    const Estimate element = joined({g.at[i], gate.error(i)}, {u.at[i], up.error(i)});
    out.value.at.push_back(element.value);
    out.bound.at.push_back(output.bound(element.value, element.error));
  }
  out.argument = fmt::format("each product off by {:.2g} of its sum |a||b|{}{}", gate.tolerance.of_scale,
                             activation_argument(launch::Activation::silu), output.argument);
  return out;
}

}  // namespace kiln::harness
