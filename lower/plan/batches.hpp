// Which forms of MMA a kernel has, and which of its MMAs follow each other so that one command can stand for them.
#pragma once

#include "lower/plan/facts.hpp"
#include "lower/plan/plan.hpp"

namespace kiln::lower {

/// Finds the batches and forms of a plan. False, and errors in the sink, where an MMA has no counterpart.
bool find_forms(const Facts&, Plan&);

}  // namespace kiln::lower
