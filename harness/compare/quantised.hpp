// What quantisation makes of numbers that are known within an error: any word that rounding makes of a number so near.
#pragma once

#include <span>

#include "harness/problem/tolerance.hpp"
#include "launch/contract.hpp"

namespace kiln::harness {

/// The numbers that an output may have, and the one that it has where nothing is off.
struct Allowed {
  double least = 0, most = 0, value = 0;

  bool has(double x) const { return least <= x && x <= most; }
  /// How far an output may be from `value`.
  double bound() const { return most - value > value - least ? most - value : value - least; }
};

/// The scale of a block of elements of a type.
Allowed allowed_scale(isa::ScalarType scale, isa::ScalarType element, std::span<const Estimate> block);
/// An element under the scale that its block has.
Allowed allowed_element(isa::ScalarType element, const Estimate&, double scale);

}  // namespace kiln::harness
