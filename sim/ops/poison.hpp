// What instructions do with poison in registers.
#pragma once

#include "sim/core/machine.hpp"

namespace kiln::sim {

/// Before a warp that has poison in its registers executes an instruction: reports poison that decides something there,
/// and spreads what the results take from the sources. `present` are the fragment's lanes, `lanes` those whose guard
/// holds. Instructions that read memory, or other lanes, spread by themselves.
void spread_poison(Context& c, const Inst& i, Mask present, Mask lanes);

}  // namespace kiln::sim
