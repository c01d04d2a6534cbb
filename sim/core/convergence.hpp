// Lanes of a warp that meet at an instruction, and lanes that leave for good.
#pragma once

#include "ptx/rules/execution.hpp"
#include "sim/core/machine.hpp"

namespace kiln::sim {

/// Waits until all live lanes of `required` are here. True when the instruction may go on.
bool converged(Context& c, Mask lanes, Mask required);

/// The same for .sync.aligned instructions, which need all lanes of the warp: reports those that have exited.
bool whole_warp(Context& c, const Inst& i, Mask lanes);

/// The value of each lane, value(lane), on which all must agree; a fault when they do not. `what` names it in the
/// message.
template <class F>
u64 uniform(Mask lanes, const char* what, F value) {
  const int first = first_lane(lanes);
  const u64 v = value(first);
  for (const int l : each_lane(lanes)) {
    const u64 other = value(l);
    require(rules::warp_uniform(other, v), "the {} {:#x} in lane {} and {:#x} in lane {}", what, v, first, other, l);
  }
  return v;
}
/// The same of an operand.
inline u64 uniform(const Context& c, Slot s, Mask lanes, const char* what) {
  return uniform(lanes, what, [&](int l) { return c.read(s, l); });
}

/// Lanes that leave are done.
void exit_lanes(Context& c, Mask lanes);

// Handlers of instructions that make lanes leave, and of those without an effect in a simulation.
Status leave(Context& c, const Inst& i, Mask lanes);
Status nothing(Context& c, const Inst& i, Mask lanes);

}  // namespace kiln::sim
