// Lanes of a warp that meet at an instruction, and lanes that leave for good.
#pragma once

#include "sim/core/machine.hpp"

namespace kiln::sim {

/// Waits until all live lanes of `required` are here. True when the instruction may go on.
bool converged(Context& c, Mask lanes, Mask required);

/// The same for .sync.aligned instructions, which need all lanes of the warp: reports those that have exited.
bool whole_warp(Context& c, const Inst& i, Mask lanes);

/// The value of an operand on which all lanes must agree; a fault when they do not. `what` names it in the message.
std::uint64_t uniform(const Context& c, Slot s, Mask lanes, const char* what);

/// Lanes that leave are done.
void exit_lanes(Context& c, Mask lanes);

// Handlers of instructions that make lanes leave, and of those without an effect in a simulation.
Status leave(Context& c, const Inst& i, Mask lanes);
Status nothing(Context& c, const Inst& i, Mask lanes);

}  // namespace kiln::sim
