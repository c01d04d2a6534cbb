// Removes the instructions of values that are never used.
#pragma once

#include "dsl/recorder.hpp"

namespace kiln::dsl {

/// Removes arithmetic whose result is not read, and .loc lines that then stand before nothing.
void drop_unused_results(Statements& code);

}  // namespace kiln::dsl
