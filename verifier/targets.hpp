// Targets and versions: what may be written for which.
#pragma once

#include "verifier/facts.hpp"

namespace kiln::verifier {

/// Checks that the `.version` knows the `.target`.
void check_module_target(const ir::Module&, diag::Sink&);

/// Checks that the target has what the function's instructions ask for, and that those of
/// tcgen05 use one cta_group.
void check_targets(const Facts&);

}  // namespace kiln::verifier
