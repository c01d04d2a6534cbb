#include "harness/compare/quantised.hpp"

#include <algorithm>
#include <cmath>

#include "harness/problem/element.hpp"
#include "harness/problem/quantisation.hpp"

namespace kiln::harness {
namespace {

// Kernels multiply by a rounded reciprocal: of the type's largest number for a scale, of the scale for an element.
constexpr double reciprocal_error = 2 * 2 * f32_rounding;

}  // namespace

Allowed allowed_scale(isa::ScalarType scale, isa::ScalarType element, std::span<const Estimate> block) {
  double value = 0, least = 0, most = 0;
  for (const Estimate& x : block) {
    value = std::max(value, std::abs(x.value));
    least = std::max(least, std::abs(x.value) - x.error);
    most = std::max(most, std::abs(x.value) + x.error);
  }
  const auto scale_of = [&](double magnitude) { return element_value(scale, scale_word(scale, element, magnitude)); };
  const double off = scale == isa::ScalarType::ue8m0 ? 0 : reciprocal_error;
  // Zeros have a ue8m0 scale of 1, not the least one: numbers that may all be zero have any up to that too.
  Allowed out{scale_of(least * (1 - off)), scale_of(most * (1 + off)), scale_of(value)};
  if (least == 0 && most > 0 && scale == isa::ScalarType::ue8m0)
    out.least = std::ldexp(1, -127), out.most = std::max(out.most, 1.0);
  return out;
}

Allowed allowed_element(isa::ScalarType element, const Estimate& x, double scale) {
  const auto stored = [&](double number) {
    return scale == 0 ? 0 : element_value(element, quantise(element, number / scale)) * scale;
  };
  const double off = reciprocal_error * std::abs(x.value);
  return {stored(x.value - x.error - off), stored(x.value + x.error + off), stored(x.value)};
}

}  // namespace kiln::harness
