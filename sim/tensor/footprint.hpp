// What the observer, which must be there, is told of a tensor-core operation at issue: the bytes of shared memory and the
// cells of tensor memory that it touches, no more, since a byte too many would look like a race with its owner.
#pragma once

#include "sim/tensor/task.hpp"

namespace kiln::sim {

void tell_mma(Context& c, const Inst& i, int lane, const MmaTask& task, AsyncId id);
void tell_copy(Context& c, const Inst& i, int lane, const CopyTask& task, Cta& cta, AsyncId id);
void tell_shift(Context& c, const Inst& i, int lane, std::uint32_t address, Cta& cta, AsyncId id);

}  // namespace kiln::sim
