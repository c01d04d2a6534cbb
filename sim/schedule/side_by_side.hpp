// Clusters that wait for each other through global memory.
#pragma once

#include "sim/schedule/scheduler.hpp"

namespace kiln::sim {

/// Runs a cluster that waits for others beside those. They start one by one: another one each time all that run only
/// poll, as long as the chip has room (Grid::most_clusters). Returns when all that have started are over, or how the
/// run ends.
Outcome run_side_by_side(Cluster& first);

}  // namespace kiln::sim
