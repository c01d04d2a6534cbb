// Where tensor-memory accesses go: columns against allocations, lanes against warps.
#pragma once

#include "verifier/facts.hpp"

namespace kiln::verifier {

/// Checks the columns of tcgen05.ld, st, cp, shift and mma against the allocation that their address comes from, and
/// the lanes of ld and st against the warps that execute them. Addresses whose base is not followed are passed over.
void check_tensor_memory(const Facts&);

/// Checks that registers of a tcgen05.ld are not read before tcgen05.wait::ld on any path; one finding a load.
void check_load_waits(const Facts&);

}  // namespace kiln::verifier
