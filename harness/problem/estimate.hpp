// A number as a kernel computes it in f32, and what each instruction may do to it.
#pragma once

namespace kiln::harness {

/// A number, and what it may be off by.
struct Estimate {
  double value = 0, error = 0;
};

/// The errors of one f32 instruction each, as parts of its result: add, mul and fma round to nearest;
/// ex2.approx.ftz.f32 and rcp.approx.ftz.f32 are what the PTX ISA allows them.
inline constexpr double f32_rounding = 0x1p-24, ex2_error = 0x1p-22, rcp_error = 0x1p-23;
/// The least step of f32, and what .ftz takes for zero: less than the least normal number.
inline constexpr double f32_least = 0x1p-149, f32_flushed = 0x1p-126;
/// Covers the second-order terms of a bound and the f64 rounding of the reference itself.
inline constexpr double second_order = 1 + 0x1p-10;

}  // namespace kiln::harness
