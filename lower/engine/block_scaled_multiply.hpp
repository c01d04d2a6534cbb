// The chains of mma.sync of a form with block scaling on sm_120a, whose mma.sync scales the blocks itself.
#pragma once

#include "lower/engine/form_code.hpp"

namespace kiln::lower {

void write_block_scaled_multiplication(const FormCode&);

}  // namespace kiln::lower
