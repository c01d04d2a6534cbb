// Words of global memory that stay as they are while the kernel runs.
#pragma once

#include <vector>

#include "verifier/facts.hpp"

namespace kiln::verifier::explore {

/// By operation: a load of global memory that finds the same word at one address whenever and by whichever thread it is
/// executed. It is a weak load, and either .nc or through parameters through which the kernel does not write.
/// Assumption: what a kernel does not write through a pointer, nothing writes while it runs.
std::vector<bool> lasting_loads(const Facts&);

}  // namespace kiln::verifier::explore
