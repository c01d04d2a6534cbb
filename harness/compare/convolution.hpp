// A convolution along one dimension, as a contract expects it: D[M, N] of weights [taps, M, K] and inputs [N, K], whose
// rows are sequences of one length, one after the other. D[m, n] is the sum over taps t of weights[t, m] * inputs[n +
// t - taps / 2], of which positions outside n's sequence count as zeros.
#pragma once

#include "launch/contract.hpp"

namespace kiln::harness {

/// Throws InputError where buffers are missing or do not fit.
void check_convolution(const launch::Contract&, const launch::Expectation&);

/// The gemm that it is: weights as [M, taps * K], and of each position what its taps see, as [N, taps * K].
launch::Contract gemm_of_convolution(const launch::Contract&, const launch::Expectation&);

}  // namespace kiln::harness
