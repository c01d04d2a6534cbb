// What the text of a matrix instruction says about its product.
#pragma once

#include "ptx/ir/code.hpp"
#include "sim/core/warp_mma.hpp"

namespace kiln::sim {

/// What the modifiers of a matrix instruction say; Gap for forms without a model. Operand places are the caller's.
WarpMma describe_mma(const ir::Operation& op, int sm);

}  // namespace kiln::sim
