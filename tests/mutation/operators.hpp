// What may go wrong with an instruction: each operator edits one. An operator belongs to a class of the taxonomy, which
// for some depends on what stands around the instruction.
#pragma once

#include "tests/mutation/edit.hpp"

namespace kiln::mutation {

/// Barriers, fences, mbarriers: operators_sync.cpp, operators_mbarrier.cpp.
void mutate_barrier(Editor&, const Sites&, const Site&);
void mutate_fence(Editor&, const Sites&, const Site&);
void mutate_flag(Editor&, const Sites&, const Site&);
void mutate_mbarrier(Editor&, const Sites&, const Site&);
/// Bulk copies and cp.async, their groups and their waits: operators_copy.cpp.
void mutate_copy(Editor&, const Sites&, const Site&);
/// The tcgen05 family: operators_tensor.cpp.
void mutate_tensor(Editor&, const Sites&, const Site&);

}  // namespace kiln::mutation
