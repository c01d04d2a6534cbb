// Matrix and instruction descriptors of tcgen05.mma and tcgen05.cp, as far as their bits are known.
#pragma once

#include "verifier/facts.hpp"

namespace kiln::verifier {

/// Checks instruction and matrix descriptors. A rule whose bits are not all known is not asked, and nothing is said.
void check_descriptors(const Facts&);

}  // namespace kiln::verifier
