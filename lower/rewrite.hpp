// A function's statements with tcgen05 into statements without.
#pragma once

#include "lower/facts.hpp"
#include "lower/plan.hpp"
#include "lower/text.hpp"

namespace kiln::lower {

/// The function as its plan says.
ir::Function rewrite(const Facts&, const Plan&);

/// What a tcgen05.ld or tcgen05.st becomes: loads and stores of the image.
Text tensor_transfer(const Facts&, const Plan&, const ir::Operation&);

}  // namespace kiln::lower
