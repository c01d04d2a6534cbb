// A function's statements with tcgen05 into statements without.
#pragma once

#include "lower/plan/facts.hpp"
#include "lower/plan/plan.hpp"

namespace kiln::lower {

/// The function as its plan says.
ir::Function rewrite(const Facts&, const Plan&);

}  // namespace kiln::lower
