// The warps that do what tensor cores did by themselves: they take commands out of the queue, in order, and multiply by
// mma.sync.
#pragma once

#include "lower/code.hpp"
#include "lower/plan/plan.hpp"

namespace kiln::lower {

/// The code of the engine's warps, which begin at `begin`. Its end falls through: the engine's threads leave there.
void write_engine(Builder&, const Plan&, JumpTarget begin);

/// Asks for so many registers for the threads of a warpgroup, where that is not what they have; 0: as they come.
void set_registers(Builder&, const Plan&, std::uint32_t count);

}  // namespace kiln::lower
