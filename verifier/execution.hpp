// Threads, warps and CTAs: who executes an instruction, and whom it reaches.
#pragma once

#include "verifier/facts.hpp"

namespace kiln::verifier {

/// Checks that .aligned instructions are executed by whole warps and tcgen05.mma by one thread, where conditions on the
/// thread index or elect.sync say who gets there. Of other conditions nothing is assumed.
void check_issuers(const Facts&);

/// Checks the cluster that cta_group::2 and multicast need against the kernel's launch directives.
void check_clusters(const Facts&);

}  // namespace kiln::verifier
