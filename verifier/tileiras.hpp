// Contracts of the Tileiras compiler, for kernels that must pass through it or look as if they had.
#pragma once

#include "verifier/facts.hpp"

namespace kiln::verifier {

/// Asks the rules of profile `tileiras` that `isa` does not have.
void check_tileiras(const Facts&);

}  // namespace kiln::verifier
