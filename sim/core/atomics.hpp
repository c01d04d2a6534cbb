// What one atomic or reduction does to a cell of memory.
#pragma once

#include <cstdint>

#include "ptx/isa/modifiers.hpp"

namespace kiln::sim {

/// True when `combined` knows the operation on this type.
bool can_combine(isa::Combine how, isa::ScalarType type);

/// The new value of a cell that holds `old`; `third` is the value that cas writes. `global`: the cell lies in global
/// memory, where f32 sums flush subnormals.
std::uint64_t combined(isa::Combine how, isa::ScalarType type, std::uint64_t old, std::uint64_t operand,
                       std::uint64_t third, bool global);

/// Combines `bytes` bytes of elements at `to` with those at `from`, element by element, as bulk and asynchronous
/// reductions do. They keep subnormals in any memory: the ISA has it otherwise, an H200 does so.
void combine_bytes(isa::Combine how, isa::ScalarType type, std::uint8_t* to, const std::uint8_t* from,
                   std::size_t bytes);

}  // namespace kiln::sim
