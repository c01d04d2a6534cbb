// The greatest magnitude of each block of columns of a product: what a kernel leaves beside it for a quantisation.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/compare/composed.hpp"
#include "harness/compare/factor.hpp"
#include "ptx/diag/error.hpp"

namespace kiln::harness {
namespace {

using launch::Buffer;
using launch::Contract;
using launch::Expectation;

// The product itself, as a gemm that leaves f32.
Contract gemm_of(const Contract& contract, const Expectation& e) {
  Contract product;
  product.buffers = {matrix_buffer(contract, e.a), matrix_buffer(contract, e.b)};
  Buffer d;
  d.name = e.output;
  d.dtype = isa::ScalarType::f32;
  d.shape = {product.buffers[0].shape[0], product.buffers[1].shape[0]};
  product.buffers.push_back(std::move(d));
  product.expectations = {factor_gemm(e, e.b)};
  return product;
}

std::uint64_t blocks_of(std::uint64_t columns, const Expectation& e) { return (columns + e.block - 1) / e.block; }

}  // namespace

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
