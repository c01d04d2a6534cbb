// Targets and versions: what may be written for which.
#pragma once

#include <vector>

#include "ptx/isa/features.hpp"
#include "verifier/facts.hpp"

namespace kiln::verifier {

/// Checks that the `.version` knows the `.target`.
void check_module_target(const ir::Module&, diag::Sink&);

/// What an instruction asks of the target and the `.version`.
std::vector<isa::Feature> features(const ir::Operation&);

/// Checks that the target has what the function's instructions ask for, and that those of
/// tcgen05 use one cta_group.
void check_targets(const Facts&);

}  // namespace kiln::verifier
