// One tcgen05.mma as its unit executes it: operands gathered from shared and tensor memory through their descriptors,
// multiplied by ptx/num, written back through the accumulator's layout.
#pragma once

#include "sim/tensor/task.hpp"

namespace kiln::sim {

/// Faults unless the task may be issued: columns allocated, operands inside shared memory, in both CTAs of a pair. Ends
/// the run as incomplete where the documents do not say what the operands mean.
void check_mma(const MmaTask& task, Cta& issuer);
/// Executes the task on the CTAs' memories as they are now.
void execute_mma(Grid& grid, const MmaTask& task, Cta& issuer);

}  // namespace kiln::sim
