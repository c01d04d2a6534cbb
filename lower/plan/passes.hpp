// The passes of the planner: each decides one thing about a kernel. False, and errors in the sink, where something in the
// kernel cannot be replaced.
#pragma once

#include "lower/plan/facts.hpp"
#include "lower/plan/plan.hpp"

namespace kiln::lower {

/// Finds the forms of MMA, and the batches: MMAs that follow each other, for which one command can stand.
bool find_forms(const Facts&, Plan&);

/// Finds what each tcgen05.cp copies.
bool find_copies(const Facts&, Plan&);

/// Finds the copies of a pair, with cta_group::2, and how many bytes each brings. The contract's tensor maps say that.
bool find_peer_copies(const Facts&, Plan&);

/// Shares out the registers of a CTA whose engine begins at a warpgroup.
void share_registers(const Facts&, Plan&, std::uint32_t engine_needs);

/// Whether a thread that waits for this commit may read the sums, or anything else in tensor memory; true when that is
/// not known. A commit after which no thread reads leaves the sums in registers, as those do that free a ring's slots.
bool is_read_after(const Facts&, std::uint32_t commit);

/// How an operand lies in shared memory, as far as its matrix descriptor is known.
Layout layout_of(const Facts&, const ir::Argument& descriptor, isa::Major);

}  // namespace kiln::lower
