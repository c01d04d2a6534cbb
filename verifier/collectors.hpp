// Collector buffers along the paths of a function.
#pragma once

#include "verifier/facts.hpp"

namespace kiln::verifier {

/// Reports collector uses that some path reaches without a live fill of the same operand. A guarded fill counts as one, and
/// a guarded end as none: a kernel that fills in the first step and uses in the others says so with predicates.
void check_collectors(const Facts&);

}  // namespace kiln::verifier
