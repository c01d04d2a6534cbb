// Values that were made and never used leave no instruction behind.
#pragma once

#include "dsl/recorder.hpp"

namespace kiln::dsl {

/// Removes arithmetic whose result nobody reads, and .loc lines that then stand before nothing.
void drop_unused_results(Statements& code);

}  // namespace kiln::dsl
