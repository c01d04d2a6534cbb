// tcgen05.ld and tcgen05.st as loads and stores of the image.
#pragma once

#include "lower/code.hpp"
#include "lower/plan/facts.hpp"
#include "lower/plan/plan.hpp"

namespace kiln::lower {

void write_tensor_transfer(Builder&, const Facts&, const Plan&, const ir::Operation&);

}  // namespace kiln::lower
