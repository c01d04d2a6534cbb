// Whether the numbers that MMAs compute decide what a kernel does next. If they do not, a run can leave them out.
#pragma once

#include "ptx/ir/code.hpp"

namespace kiln::timing {

/// Whether the guard of a branch, or an operand of a barrier, a copy or an instruction of the tensor core, may depend
/// on what wgmma or tcgen05.mma computed. Memory counts as one place for each state space.
bool depends_on_products(const ir::Code&);

}  // namespace kiln::timing
