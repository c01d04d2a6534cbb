// What the clocks at both ends of a launch's warps say of its speed.
#pragma once

#include <vector>

#include "harness/measure/timing.hpp"
#include "harness/profile/profile.hpp"

namespace kiln::harness {

/// One for each launch that has warps. The clock is that of all warps that lived for half as long as the launch or
/// more: the cycles that they counted by the time that they lived, so that a step of the global timer (32 ns on a
/// Hopper GPU) counts for little.
std::vector<LaunchClock> launch_clocks(const std::vector<WarpEnds>&);

}  // namespace kiln::harness
