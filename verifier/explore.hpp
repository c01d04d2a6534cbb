// Proves or refutes a kernel's synchronisation for all its trip counts, without running it.
#pragma once

#include <chrono>

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"
#include "verifier/launch_facts.hpp"

namespace kiln::verifier {

/// As long as it takes.
inline constexpr std::chrono::milliseconds no_limit = std::chrono::milliseconds::max();

/// Explores the entry functions of a module (verifier/explore): races of shared and tensor memory, missing fences,
/// wrong arrivals, laps and deadlocks, use of CTAs and mbarriers that are not there, each with the parameters under
/// which it happens. What cannot be followed is reported as `incomplete`. Findings that the sink has already are not
/// repeated. With a contract the entries that it launches are explored, and what is proven is proven for these
/// launches: their grids, CTAs, clusters and numbers, and what their buffers hold, where these are filled and trip
/// counts are out of them. Their tensor maps say what copies bring, and so whether matrix descriptors fit; without a
/// contract the boxes of `facts` do. Then, what neither the PTX nor `facts` says is taken as it may be: what is found
/// for one size of CTA or cluster alone is a note that names it, and not an error. So is what is found for a loop
/// without a step alone, or for a grid of more than two CTAs. The entries share `time` between them; what is not
/// explored by then is incomplete.
void check_synchronisation(const ir::Module&, diag::Sink&, const launch::Contract* launch = nullptr,
                           const LaunchFacts& facts = {}, std::chrono::milliseconds time = no_limit);

/// The same with each finding on its own: those of one mistake are not made one.
void find_unordered(const ir::Module&, diag::Sink&, const launch::Contract* launch = nullptr,
                    const LaunchFacts& facts = {}, std::chrono::milliseconds time = no_limit);

}  // namespace kiln::verifier
