// Proves or refutes a kernel's synchronisation for all its trip counts, without running it.
#pragma once

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::verifier {

/// Explores the entry functions of a module (verifier/protocol): races of shared and tensor memory, missing proxy
/// fences, wrong arrivals, laps and standstills, each with the parameters under which it happens. What cannot be
/// followed is reported as `incomplete`. Findings that the sink has already are not repeated. With a
/// contract the entries that it launches are explored, and what is proven is proven for these launches: their grids,
/// CTAs, clusters and numbers.
void explore(const ir::Module&, diag::Sink&, const launch::Contract* launch = nullptr);

}  // namespace kiln::verifier
