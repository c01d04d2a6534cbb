// The CPU's own answer to D = A * B^T, and the natural scale of its rounding errors.
#pragma once

#include <cstdint>
#include <vector>

#include "launch/contract.hpp"

namespace kiln::harness {

/// A row-major matrix of doubles.
struct Matrix {
  std::uint64_t rows = 0, columns = 0;
  std::vector<double> at{};
};

/// A * B^T for A[M,K] and B[N,K], accumulated in f64 in order of k; the same on any number of threads.
Matrix multiply_transposed(const Matrix& a, const Matrix& b);

/// The numbers in a two-dimensional buffer. Throws InputError for buffers that are no matrix of numbers.
Matrix values(const launch::Buffer&);

/// Their magnitudes, those of subnormals raised to the smallest normal number: tensor cores align products by encoded
/// exponents, so that is the size an element has where errors are made.
Matrix magnitudes(const launch::Buffer&);

}  // namespace kiln::harness
