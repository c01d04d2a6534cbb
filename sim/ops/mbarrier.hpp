// What a schedule asks about a wait before it lets a thread try.
#pragma once

#include "sim/core/machine.hpp"

namespace kiln::sim {

/// True when a wait on an mbarrier (try_wait, test_wait) would let the lanes pass, or has to be executed to find out
/// what is wrong with it.
bool mbarrier_wait_passes(Context& c, const Inst& i, Mask lanes);

/// A wait whose failure does not lead straight back to it: what threads do after it may differ.
bool is_peek(const Inst&);
bool has_peeks(const Program&);
/// Finds the peeks of a program whose instructions are all there.
void mark_peeks(Program&);

}  // namespace kiln::sim
