// The chains of mma.sync of a form with block scaling.
#pragma once

#include "lower/engine/form_code.hpp"

namespace kiln::lower {

void write_scaled_multiplication(const FormCode&);

}  // namespace kiln::lower
