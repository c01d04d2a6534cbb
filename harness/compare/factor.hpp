// One product of several that an output is composed of, or of one that it is made from.
#pragma once

#include <cstddef>
#include <string>

#include "harness/compare/reference.hpp"
#include "harness/problem/tolerance.hpp"
#include "launch/contract.hpp"

namespace kiln::harness {

/// A buffer of two extents. Throws InputError for others.
const launch::Buffer& matrix_buffer(const launch::Contract&, const std::string& name);

/// The gemm of an expectation's A with `b`, and nothing else of it.
launch::Expectation factor_gemm(const launch::Expectation&, const std::string& b);

/// A * B^T, and what its f32 sums may be off by before anything becomes of them.
struct Factor {
  Product product;
  Tolerance tolerance;
  double error(std::size_t i) const { return tolerance.bound(0, product.scale.at[i]); }
};

/// What a gemm is. Throws InputError as gemm_problem does.
Factor factor_of(const launch::Contract&, const launch::Expectation& gemm, Accumulation);

}  // namespace kiln::harness
