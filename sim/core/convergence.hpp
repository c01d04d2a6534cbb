// Lanes of a warp that meet at an instruction, and lanes that leave for good.
#pragma once

#include "sim/core/machine.hpp"

namespace kiln::sim {

/// Waits until all live lanes of `required` are here. True when the instruction may go on.
bool converged(Context& c, Mask lanes, Mask required);

/// The same for .sync.aligned instructions, which need all lanes of the warp: reports those that have exited.
bool whole_warp(Context& c, const Inst& i, Mask lanes);

/// Leaves: the lanes are done.
void exit_lanes(Context& c, Mask lanes);

}  // namespace kiln::sim
