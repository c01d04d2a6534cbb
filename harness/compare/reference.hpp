// The CPU's own answer to D = A * B^T, and the natural scale of its rounding errors.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/problem/gemm_problem.hpp"
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
/// The magnitude of one word of a type.
double magnitude(isa::ScalarType, std::uint64_t word);

/// A matrix operand as MMAs see it: times its scales, and a sparse A with zeros where it has no elements.
struct Operand {
  Matrix values{}, magnitudes{};
  std::vector<std::uint32_t> kept{};  // sparse A: the column of each element that is stored, row by row
};

/// Throws InputError for metadata that means nothing.
Operand operand_a(const GemmProblem&);
Operand operand_b(const GemmProblem&);

/// Throws InputError for what stands in buffers before the first launch and means nothing: metadata, signs of ue4m3
/// scales. Buffers that a launch is to fill are not looked at.
void check_contents(const launch::Contract&);

/// What a gemm must give, and sum |a||b| for each of its elements.
struct Product {
  Matrix value{}, scale{};
};

/// The product of a problem's operands in f64, integers as s32 has them: wrapped, or clamped after each MMA in the
/// order of k. Throws InputError for metadata that means nothing.
Product product_of(const GemmProblem&);

}  // namespace kiln::harness
