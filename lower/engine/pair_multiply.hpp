// The chains of mma.sync of a pair's form in one CTA.
#pragma once

#include "lower/engine/form_code.hpp"

namespace kiln::lower {

void write_pair_multiplication(const FormCode&);

}  // namespace kiln::lower
