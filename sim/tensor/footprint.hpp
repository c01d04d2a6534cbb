// Tells the observer, which must be there, at issue which bytes of shared memory and cells of tensor memory a
// tensor-core operation touches. A byte too many would look like a race.
#pragma once

#include "sim/tensor/task.hpp"

namespace kiln::sim {

void tell_mma(Context& c, const Inst& i, int lane, const MmaTask& task, AsyncId id);
void tell_copy(Context& c, const Inst& i, int lane, const CopyTask& task, Cta& cta, AsyncId id);
void tell_shift(Context& c, const Inst& i, int lane, u32 address, Cta& cta, AsyncId id);

}  // namespace kiln::sim
