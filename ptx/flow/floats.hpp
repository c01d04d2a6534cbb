// What instructions on 32-bit floats make of numbers: sums, products, comparisons, conversions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ptx/ir/code.hpp"

namespace kiln::flow {

/// The result of an instruction that works on .f32, for the bits of its sources; predicates are 0 and 1. Nothing for
/// other instructions, for roundings other than to the nearest, and where NaNs or subnormal numbers take part.
std::optional<std::uint64_t> float_result_of(const ir::Operation&, std::span<const std::uint64_t> sources);

}  // namespace kiln::flow
