// Copies of a pair, with cta_group::2. The tensor map, which a contract has, says how many bytes one brings.
#pragma once

#include "lower/plan/facts.hpp"
#include "lower/plan/plan.hpp"

namespace kiln::lower {

/// Finds the copies of a pair, and what they bring. False, and errors in the sink, for those that cannot be replaced.
bool find_peer_copies(const Facts&, Plan&);

}  // namespace kiln::lower
