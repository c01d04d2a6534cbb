// Outputs that are no single product, as a contract expects them: attention, two products joined by SwiGLU, the
// greatest elements of a product. In f64 from what the buffers hold, each element with a bound of its own, which
// docs/tolerance.md derives.
#pragma once

#include <string>

#include "harness/compare/reference.hpp"
#include "harness/problem/tolerance.hpp"
#include "launch/contract.hpp"

namespace kiln::harness {

/// What an output must be, and what each of its elements may be off by.
struct Composed {
  Matrix value{}, bound{};
  std::string argument{};  // one line, for a person
};

/// A buffer of two extents. Throws InputError for others.
const launch::Buffer& matrix_buffer(const launch::Contract&, const std::string& name);

/// Throws InputError where buffers are missing or do not fit.
void check_swiglu(const launch::Contract&, const launch::Expectation&);
void check_absmax(const launch::Contract&, const launch::Expectation&);

/// A convolution along one dimension: D[M, N] of weights [taps, M, K] and inputs [N, K], whose rows are sequences of
/// one length, one after the other. D[m, n] is the sum over taps t of weights[t, m] * inputs[n + t - taps / 2], of
/// which positions outside n's sequence count as zeros. Throws InputError where buffers are missing or do not fit.
void check_convolution(const launch::Contract&, const launch::Expectation&);

/// The gemm that it is: weights as [M, taps * K], and of each position what its taps see, as [N, taps * K].
launch::Contract gemm_of_convolution(const launch::Contract&, const launch::Expectation&);

/// What attention has beside O, and its gradients, of each head.
Composed attention_result_of(const launch::Contract&, const launch::Expectation&,
                             Accumulation = Accumulation::tensor_core);
/// softmax(scale * A * B^T) * C, of each head and sequence.
Composed attention_of(const launch::Contract&, const launch::Expectation&, Accumulation = Accumulation::tensor_core);
/// silu(A * B^T) * (A * C^T).
Composed swiglu_of(const launch::Contract&, const launch::Expectation&, Accumulation = Accumulation::tensor_core);
/// The greatest |A * B^T| of each block of a row's columns.
Composed absmax_of(const launch::Contract&, const launch::Expectation&, Accumulation = Accumulation::tensor_core);

}  // namespace kiln::harness
