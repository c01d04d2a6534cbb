// How a cluster begins: memories empty, every warp at the first instruction, special registers filled in.
#pragma once

#include "sim/core/machine.hpp"

namespace kiln::sim {

/// The extents of the grid in clusters.
launch::Dim3 clusters_of(const Grid& grid);

/// Puts a cluster at its beginning: the one with this number, of those that the launch divides into.
void start_cluster(Cluster& cluster, std::uint64_t number);

}  // namespace kiln::sim
