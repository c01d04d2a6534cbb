// Threads, warps, CTAs and proxies: who executes an instruction, and whom it reaches.
#pragma once

#include <vector>

#include "verifier/facts.hpp"

namespace kiln::verifier {

/// Checks that .aligned instructions are executed by whole warps and tcgen05.mma by one thread, where conditions on the
/// thread index or elect.sync say who gets there. Of other conditions nothing is assumed.
void check_issuers(const Facts&);

/// Checks that the given .aligned operations do not hang on words that the threads of a warp have loaded from addresses
/// of their own: once for each such condition.
void check_divergence(const Facts&, const std::vector<std::uint32_t>& aligned);

/// Checks the cluster that cta_group::2 and multicast need against the kernel's launch directives.
void check_clusters(const Facts&);

/// Checks that what generic stores wrote to a shared variable is not read by tcgen05.mma, tcgen05.cp or a bulk copy in
/// a kernel without any proxy fence. Nothing is said when the places are not followed, or when copies write there too.
void check_proxies(const Facts&);

}  // namespace kiln::verifier
