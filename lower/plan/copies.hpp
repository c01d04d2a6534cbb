// What tcgen05.cp copies.
#pragma once

#include "lower/plan/facts.hpp"
#include "lower/plan/plan.hpp"

namespace kiln::lower {

/// Finds what is copied. False, and errors in the sink, where a tcgen05.cp has no counterpart.
bool find_copies(const Facts&, Plan&);

}  // namespace kiln::lower
