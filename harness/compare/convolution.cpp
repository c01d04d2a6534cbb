#include "harness/compare/composed.hpp"

#include <algorithm>

#include "harness/problem/gemm_problem.hpp"
#include "ptx/diag/refuse.hpp"

namespace kiln::harness {
namespace {

using launch::Buffer;
using launch::Contract;
using launch::Expectation;

// The extents of a convolution.
struct Extents {
  std::uint64_t taps = 0, rows = 0, positions = 0, depth = 0, sequence = 0;
};

Extents extents(const Contract& contract, const Expectation& e) {
  const Buffer &weights = contract.at(e.a), &inputs = contract.at(e.b);
  if (weights.shape.size() != 3)
    diag::refuse("buffer {}: weights have 3 extents, [taps, M, K]; this has {}", e.a, weights.shape.size());
  if (inputs.shape.size() != 2)
    diag::refuse("buffer {}: inputs have 2 extents, [N, K]; this has {}", e.b, inputs.shape.size());
  const Extents x{weights.shape[0], weights.shape[1], inputs.shape[0], weights.shape[2], e.sequence};
  if (x.taps % 2 == 0) diag::refuse("buffer {}: {} taps have no middle one", e.a, x.taps);
  if (inputs.shape[1] != x.depth) diag::refuse("{} has K = {}, {} has K = {}", e.a, x.depth, e.b, inputs.shape[1]);
  if (x.sequence == 0 || x.positions % x.sequence != 0)
    diag::refuse("{} positions are no sequences of {}", x.positions, x.sequence);
  for (const Buffer* b : {&weights, &inputs})
    if (isa::bits(b->dtype) % 8 != 0) diag::refuse("buffer {}: elements must be whole bytes", b->name);
  return x;
}

// Copies a row of an operand to a place in the matrix of the gemm.
void copy_row(const Buffer& from, std::uint64_t row, Buffer& to, std::uint64_t to_row, std::uint64_t part) {
  const std::uint64_t bytes = from.shape.back() * std::uint64_t(isa::bits(from.dtype)) / 8;
  const std::uint64_t parts = to.shape[1] / from.shape.back();
  std::copy_n(from.bytes.begin() + std::ptrdiff_t(row * bytes), bytes,
              to.bytes.begin() + std::ptrdiff_t((to_row * parts + part) * bytes));
}

void fill(const Contract& contract, const Expectation& e, const Extents& x, Contract& gemm) {
  Buffer &a = gemm.at(e.a), &b = gemm.at(e.b);
  a.bytes.resize(a.size()), b.bytes.resize(b.size());
  for (std::uint64_t t = 0; t < x.taps; ++t) {
    for (std::uint64_t m = 0; m < x.rows; ++m) copy_row(contract.at(e.a), t * x.rows + m, a, m, t);
    for (std::uint64_t n = 0; n < x.positions; ++n) {
      const std::uint64_t seen = n % x.sequence + t, middle = x.taps / 2;  // both `middle` too far
      if (seen >= middle && seen - middle < x.sequence) copy_row(contract.at(e.b), n + t - middle, b, n, t);
    }
  }
}

// Without what stands in the operands.
Contract shapes(const Contract& contract, const Expectation& e, const Extents& x) {
  Contract gemm;
  gemm.buffers = {{e.a, contract.at(e.a).dtype, {x.rows, x.taps * x.depth}},
                  {e.b, contract.at(e.b).dtype, {x.positions, x.taps * x.depth}},
                  contract.at(e.output)};
  gemm.expectations = {e};
  gemm.expectations[0].kind = Expectation::Kind::gemm;
  return gemm;
}

}  // namespace

void check_convolution(const Contract& contract, const Expectation& e) {
  const Contract gemm = shapes(contract, e, extents(contract, e));
  gemm_problem(gemm, gemm.expectations[0]);
}

Contract gemm_of_convolution(const Contract& contract, const Expectation& e) {
  const Extents x = extents(contract, e);
  Contract gemm = shapes(contract, e, x);
  fill(contract, e, x, gemm);
  return gemm;
}

}  // namespace kiln::harness
