// tcgen05.cp and tcgen05.shift as the unit executes them.
#pragma once

#include "sim/tensor/task.hpp"

namespace kiln::sim {

/// Faults unless the copy may be issued.
void check_copy(const CopyTask& task, Cta& cta);
void execute_copy(Grid& grid, const CopyTask& task, Cta& cta);

/// tcgen05.shift.down: eight columns move up by one lane in each quarter.
void execute_shift(u32 address, Cta& cta);

}  // namespace kiln::sim
