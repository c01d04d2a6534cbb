// Outputs that are more than one product, as a contract expects them: attention, and two products joined by SwiGLU. In
// f64 from what the buffers hold, each element with a bound of its own, which docs/tolerance.md derives.
#pragma once

#include <string>

#include "harness/reference.hpp"
#include "harness/tolerance.hpp"
#include "launch/contract.hpp"

namespace kiln::harness {

/// What an output must be, and what each of its elements may be off by.
struct Composed {
  Matrix value{}, bound{};
  std::string argument{};  // one line, for a person
};

/// Throws InputError where buffers are missing or do not fit.
void check_attention(const launch::Contract&, const launch::Expectation&);
void check_swiglu(const launch::Contract&, const launch::Expectation&);

/// softmax(scale * A * B^T) * C.
Composed attention_of(const launch::Contract&, const launch::Expectation&, Accumulation = Accumulation::tensor_core);
/// silu(A * B^T) * (A * C^T).
Composed swiglu_of(const launch::Contract&, const launch::Expectation&, Accumulation = Accumulation::tensor_core);

/// The errors of one f32 instruction each, as parts of its result: add, mul and fma round to nearest;
/// ex2.approx.ftz.f32 and rcp.approx.ftz.f32 are what the PTX ISA allows them.
inline constexpr double f32_rounding = 0x1p-24, ex2_error = 0x1p-22, rcp_error = 0x1p-23;
/// What .ftz takes for zero is less.
inline constexpr double f32_flushed = 0x1p-126;

}  // namespace kiln::harness
