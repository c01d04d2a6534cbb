// Waiting and arriving at mbarriers.
#pragma once

#include "lower/code.hpp"
#include "ptx/isa/modifiers.hpp"

namespace kiln::lower {

/// Waits for a phase of the mbarrier `offset` bytes after `slot`; with the cluster's scope, also for what its other
/// CTAs have released.
void wait_for(Builder&, Register slot, unsigned offset, Register parity, isa::Scope = isa::Scope::cta);
/// Whether that phase is complete.
Register test(Builder&, Register slot, unsigned offset, Register parity, isa::Scope = isa::Scope::cta);

/// Arrives at an mbarrier of this CTA, `offset` bytes after an address.
void arrive(Builder&, Register address, unsigned offset = 0);
/// The same where the condition holds.
void arrive_if(Builder&, const Condition&, Register address, unsigned offset = 0);
/// Arrives, with release semantics, at `mbarrier` in each CTA of `mask`, which holds a one and is zero after that.
void arrive_in_each(Builder&, Register mbarrier, Register mask);

}  // namespace kiln::lower
