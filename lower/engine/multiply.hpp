// The chains of mma.sync that one command stands for.
#pragma once

#include "lower/engine/form_code.hpp"

namespace kiln::lower {

void write_multiplication(const FormCode&);

}  // namespace kiln::lower
