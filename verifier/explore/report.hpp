// Writes findings of what exploring has found: the other access, the parameters, and where all threads stand.
#pragma once

#include "ptx/diag/diagnostic.hpp"
#include "verifier/explore/explore.hpp"

namespace kiln::verifier::explore {

/// Reports what was found that the sink does not say of the same place already, and what could not be followed.
void report(const Program&, const Explored&, diag::Sink&);

}  // namespace kiln::verifier::explore
