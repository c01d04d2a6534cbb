// Where tensor-memory accesses go: columns against allocations, lanes against warps.
#pragma once

#include "verifier/facts.hpp"

namespace kiln::verifier {

/// Checks the columns of tcgen05.ld, st, cp, shift and mma against the allocation that their address comes from, the
/// lanes of ld and st against their shape and the warps that execute them, and D against what the same MMA reads.
/// Addresses whose base is not followed are passed over.
void check_tensor_memory(const Facts&);

/// Checks that registers of a tcgen05.ld are not read before tcgen05.wait::ld on any path; one finding a load.
void check_load_waits(const Facts&);

/// Checks that something may tell a thread that reads an accumulator with tcgen05.ld that the MMA which wrote it is
/// done: a tcgen05.commit behind the MMA, and behind the MMA a wait or a barrier before the load.
void check_mma_order(const Facts&);

/// Checks for tcgen05.fence::after_thread_sync between a wait for a commit and tcgen05.ld; one finding a wait.
void check_load_fences(const Facts&);

}  // namespace kiln::verifier
