// The passes of the planner: each decides one thing about a kernel. False, and errors in the sink, where something in
// the kernel cannot be replaced.
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

/// The named barriers, a bit for each, that an operation of the unit `barrier` may use in a CTA of so many threads.
std::uint32_t named_barriers_of(const Facts&, const ir::Operation&, std::uint32_t threads);

/// How an operand lies in shared memory, as far as its matrix descriptor is known. `assumption`: it is known if no sum
/// is carried out of the start address. `unknown`: names the fields that nothing tells. `always_leads`: the instruction
/// reads the leading dimension's offset, whatever the swizzle.
struct LayoutFound {
  Layout layout{};
  std::optional<LayoutAssumption> assumption{};
  std::string unknown{};
};
LayoutFound layout_of(const Facts&, const ir::Argument& descriptor, isa::Major, bool always_leads = false);

}  // namespace kiln::lower
