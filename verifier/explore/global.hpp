// Races of global memory that are there whatever data and sizes are.
#pragma once

#include "verifier/explore/explore.hpp"

namespace kiln::verifier::explore {

/// Adds loads of bytes that another warp stores through the same pointer parameter, with nothing between that could put
/// the two in order. Threads of a few CTAs are followed one by one, as far as their way is known, with large numbers
/// for parameters; addresses that hang on more than the pointer and the thread's place are passed over, and so are
/// kernels whose threads may synchronise by memory, and loads that reach nothing. Different parameters are taken for
/// different memory. A race between CTAs is known for grids of several alone.
void find_global_races(const Program&, Explored&);

}  // namespace kiln::verifier::explore
