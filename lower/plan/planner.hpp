// Decides what becomes of a kernel.
#pragma once

#include "lower/plan/facts.hpp"
#include "lower/plan/plan.hpp"

namespace kiln::lower {

/// Nothing, and errors in the sink, for kernels that cannot be lowered.
std::optional<Plan> plan(const Facts&);

/// False, and an error in the sink, where a kernel may run in clusters and the target has none.
bool check_cluster(const Facts&);

}  // namespace kiln::lower
