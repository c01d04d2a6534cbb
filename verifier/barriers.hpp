// mbarriers and bulk copies: counts, transaction bytes, use without init, coordinates, alignment.
#pragma once

#include "verifier/facts.hpp"

namespace kiln::verifier {

/// Checks constant arrival and transaction counts, and that every mbarrier whose address is known is initialised
/// somewhere in the kernel and, if it is waited on, arrived on. Nothing is said of addresses that are not followed, nor
/// when some init has such an address. Returns whether some wait never ends.
bool check_mbarriers(const Facts&);

/// Checks that mbarriers lie in shared memory and at multiples of 8, as far as their addresses are followed.
void check_barrier_addresses(const Facts&);

/// Checks, for mbarriers that are followed through the whole kernel, the bytes that they expect against those that
/// copies of constant size bring, and the parity that is asked of one that completes a single phase. Kernels that may
/// signal across CTAs are passed over.
void check_phases(const Facts&);

/// Checks bulk and tensor copies: coordinates against dimensions, shared alignment, size.
void check_copies(const Facts&);

}  // namespace kiln::verifier
