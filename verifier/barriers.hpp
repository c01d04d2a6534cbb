// mbarriers and bulk copies: counts, transaction bytes, use without init, coordinates, alignment.
#pragma once

#include "verifier/facts.hpp"

namespace kiln::verifier {

/// Checks constant arrival and transaction counts, and that every mbarrier whose address is known is initialised
/// somewhere in the kernel and, if it is waited on, arrived on. Nothing is said of addresses that are not followed, nor when some init has such an address.
void check_mbarriers(const Facts&);

/// Checks bulk and tensor copies: coordinates against dimensions, shared alignment, size.
void check_copies(const Facts&);

}  // namespace kiln::verifier
