#include "harness/compare/factor.hpp"

#include <fmt/format.h>

#include "ptx/diag/error.hpp"

namespace kiln::harness {

const launch::Buffer& matrix_buffer(const launch::Contract& contract, const std::string& name) {
  const launch::Buffer& b = contract.at(name);
  if (b.shape.size() != 2)
    throw diag::InputError(fmt::format("buffer {}: a matrix has 2 extents, this has {}", name, b.shape.size()));
  return b;
}

launch::Expectation factor_gemm(const launch::Expectation& e, const std::string& b) {
  launch::Expectation gemm = e;
  gemm.kind = launch::Expectation::Kind::gemm;
  gemm.b = b;
  gemm.c.clear();
  gemm.block = 0;
  return gemm;
}

Factor factor_of(const launch::Contract& contract, const launch::Expectation& gemm, Accumulation accumulation) {
  const GemmProblem p = gemm_problem(contract, gemm);
  GemmArithmetic arithmetic = p.arithmetic();
  arithmetic.output = isa::ScalarType::f32;
  return {product_of(p), derive_tolerance(arithmetic, accumulation)};
}

}  // namespace kiln::harness
