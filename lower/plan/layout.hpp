// How an operand lies in shared memory, as far as its matrix descriptor is known.
#pragma once

#include "lower/plan/facts.hpp"
#include "lower/plan/form.hpp"

namespace kiln::lower {

Layout layout_of(const Facts&, const ir::Argument& descriptor, isa::Major);

}  // namespace kiln::lower
