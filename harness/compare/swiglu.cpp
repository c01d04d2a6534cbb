#include <fmt/format.h>

#include <cmath>

#include "harness/compare/composed.hpp"
#include "harness/compare/factor.hpp"
#include "harness/problem/epilogue.hpp"

namespace kiln::harness {
namespace {

// silu(g) * u.
Estimate joined(const Estimate& g, const Estimate& u) {
  const Estimate s = after_activation(launch::Activation::silu, g);
  const double value = s.value * u.value;
  const double error = std::abs(s.value) * u.error + std::abs(u.value) * s.error + s.error * u.error;
  return {value, error + f32_rounding * (std::abs(value) + error)};
}

}  // namespace

void check_swiglu(const launch::Contract& contract, const launch::Expectation& e) {
  gemm_problem(contract, factor_gemm(e, e.b));
  gemm_problem(contract, factor_gemm(e, e.c));
}

Composed swiglu_of(const launch::Contract& contract, const launch::Expectation& e, Accumulation accumulation) {
  check_swiglu(contract, e);
  const Factor gate = factor_of(contract, factor_gemm(e, e.b), accumulation);
  const Factor up = factor_of(contract, factor_gemm(e, e.c), accumulation);
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
