// What a gemm does to its sums before it stores them: D = activation(A * B^T + beta * C + bias), on the CPU, and by how
// much each step may be off. docs/tolerance.md has the derivation.
#pragma once

#include <cstdint>
#include <string>

#include "harness/problem/tolerance.hpp"
#include "launch/contract.hpp"

namespace kiln::harness {

/// The steps, with their buffers. Null: there is no such step; C without beta is added as it is.
struct GemmEpilogue {
  const launch::Buffer *c = nullptr, *beta = nullptr, *bias = nullptr;
  launch::Activation activation = launch::Activation::none;

  bool has_steps() const { return c || bias || activation != launch::Activation::none; }
};

/// Throws InputError unless the buffers fit a D of so many rows and columns.
void check_epilogue(const GemmEpilogue&, std::uint64_t rows, std::uint64_t columns);

/// relu is max(x, 0), silu x / (1 + e^-x), gelu_tanh x / (1 + e^-y) with y = sqrt(8 / pi) * (x + 0.044715 x^3), which
/// is x / 2 * (1 + tanh(y / 2)).
double activated(launch::Activation, double x);
/// "relu" and so on.
std::string_view spelling(launch::Activation);

/// What becomes of a number by an activation as kernels compute it, with ex2.approx.ftz and rcp.approx.ftz.
Estimate after_activation(launch::Activation, const Estimate&);
/// What becomes of the sum at (row, column).
Estimate after_epilogue(const GemmEpilogue&, Estimate sum, std::uint64_t row, std::uint64_t column);
/// The steps and their errors in one line, to follow the sums' own.
std::string epilogue_argument(const GemmEpilogue&);
std::string activation_argument(launch::Activation);

}  // namespace kiln::harness
