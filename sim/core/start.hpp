// How a cluster begins: memories empty, every warp at the first instruction, special registers filled in.
#pragma once

#include "sim/core/machine.hpp"

namespace kiln::sim {

/// The extents of the grid in clusters.
launch::Dim3 clusters_of(const Grid& grid);

/// Makes all clusters of a launch wait. PTX promises no order, so the seed chooses one; seed 1 has that of their
/// numbers.
void enqueue_clusters(Grid& grid, std::uint64_t seed);
/// Puts the first cluster that waits, of which there must be one, at its beginning. `beside`: others are not over.
void start_next_cluster(Cluster& cluster, bool beside = false);

}  // namespace kiln::sim
