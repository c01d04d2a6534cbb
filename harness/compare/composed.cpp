#include "harness/compare/composed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/problem/epilogue.hpp"
#include "ptx/diag/error.hpp"

namespace kiln::harness {
namespace {

using launch::Buffer;
using launch::Contract;
using launch::Expectation;

// The gemm of an expectation's A with `b` and its scales, if there are any, and nothing else of it.
Expectation factor_gemm(const Expectation& e, const std::string& b, const std::string& scales = {}) {
  Expectation gemm = e;
  gemm.kind = Expectation::Kind::gemm;
  gemm.b = b;
  gemm.sfb = scales;
  gemm.c.clear();
  if (scales.empty()) gemm.block = 0;
  return gemm;
}
Expectation gate_gemm(const Expectation& e) { return factor_gemm(e, e.b, e.sfb); }
Expectation up_gemm(const Expectation& e) { return factor_gemm(e, e.c, e.sfc); }

// A * B^T, and what its f32 sums may be off by before anything becomes of them.
struct Factor {
  Product product;
  Tolerance tolerance;
  double error(std::size_t i) const { return tolerance.bound(0, product.scale.at[i]); }
};

Factor factor_of(const Contract& contract, const Expectation& gemm, Accumulation accumulation) {
  const GemmProblem p = gemm_problem(contract, gemm);
  GemmArithmetic arithmetic = p.arithmetic();
  arithmetic.output = isa::ScalarType::f32;
  return {product_of(p), derive_tolerance(arithmetic, accumulation)};
}

// silu(g) * u.
Estimate joined(const Estimate& g, const Estimate& u) {
  const Estimate s = after_activation(launch::Activation::silu, g);
  const double value = s.value * u.value;
  const double error = std::abs(s.value) * u.error + std::abs(u.value) * s.error + s.error * u.error;
  return {value, error + f32_rounding * (std::abs(value) + error)};
}

// The product itself, as a gemm that leaves f32.
Contract gemm_of(const Contract& contract, const Expectation& e) {
  const Buffer &a = matrix_buffer(contract, e.a), &b = matrix_buffer(contract, e.b);
  Contract product;
  product.buffers = {a, b, {e.output, isa::ScalarType::f32, {a.shape[0], b.shape[0]}}};
  product.expectations = {factor_gemm(e, e.b)};
  return product;
}

std::uint64_t blocks_of(std::uint64_t columns, const Expectation& e) { return (columns + e.block - 1) / e.block; }

}  // namespace

const Buffer& matrix_buffer(const Contract& contract, const std::string& name) {
  const Buffer& b = contract.at(name);
  if (b.shape.size() != 2)
    throw diag::InputError(fmt::format("buffer {}: a matrix has 2 extents, this has {}", name, b.shape.size()));
  return b;
}

void check_swiglu(const Contract& contract, const Expectation& e) {
  gemm_problem(contract, gate_gemm(e));
  gemm_problem(contract, up_gemm(e));
}

Composed swiglu_of(const Contract& contract, const Expectation& e, Accumulation accumulation) {
  check_swiglu(contract, e);
  const Factor gate = factor_of(contract, gate_gemm(e), accumulation);
  const Factor up = factor_of(contract, up_gemm(e), accumulation);
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

void check_absmax(const Contract& contract, const Expectation& e) {
  const Contract product = gemm_of(contract, e);
  gemm_problem(product, product.expectations[0]);
  const Buffer &wanted = product.buffers.back(), &out = contract.at(e.output);
  if (e.block == 0) throw diag::InputError("absmax is of blocks of one column or more");
  const std::vector shape{wanted.shape[0], blocks_of(wanted.shape[1], e)};
  if (out.shape != shape || !isa::is_floating(out.dtype))
    throw diag::InputError(fmt::format("buffer {}: must be floats [{}], one for each {} columns; it is {} [{}]",
                                       out.name, fmt::join(shape, ", "), e.block, isa::spelling(out.dtype),
                                       fmt::join(out.shape, ", ")));
}

Composed absmax_of(const Contract& contract, const Expectation& e, Accumulation accumulation) {
  check_absmax(contract, e);
  const Contract product = gemm_of(contract, e);
  const Factor sums = factor_of(product, product.expectations[0], accumulation);
  const Tolerance output = rounding_tolerance(contract.at(e.output).dtype);
  const std::uint64_t rows = sums.product.value.rows, columns = sums.product.value.columns;
  const std::uint64_t blocks = blocks_of(columns, e);
  Composed out{{rows, blocks, {}}, {rows, blocks, {}}, {}};
  for (std::uint64_t i = 0; i < rows; ++i)
    for (std::uint64_t first = 0; first < columns; first += e.block) {
      Estimate greatest;
      for (std::uint64_t j = first; j < std::min(first + e.block, columns); ++j) {
        greatest.value = std::max(greatest.value, std::abs(sums.product.value.at[i * columns + j]));
        greatest.error = std::max(greatest.error, sums.error(i * columns + j));
      }
      out.value.at.push_back(greatest.value);
      out.bound.at.push_back(output.bound(greatest.value, greatest.error));
    }
  out.argument = sums.tolerance.argument +
                 fmt::format("; the greatest of {} columns is off by no more than the worst of them", e.block) +
                 output.argument;
  return out;
}

}  // namespace kiln::harness
