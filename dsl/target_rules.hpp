// What a target asks of a kernel whose tiles and MMAs are known and which is not built yet.
#pragma once

#include <vector>

#include "dsl/mma.hpp"
#include "dsl/tile.hpp"

namespace kiln::dsl {

/// Whether the tensor core of the target can multiply so. Where it is wgmma, fewer forms and tiles are legal than
/// MmaSpec::check and TileShape::check say of tcgen05. `in_registers`: with RegisterSums.
rules::Verdict check_on(isa::Target, const MmaSpec&, const TileShape& a, const TileShape& b, bool in_registers = false);

/// How many slots of these parts a ring has room for in a CTA of the target, in clusters of `pairs`, beside `others`
/// bytes of shared memory that the kernel asks for. Where the tensor core is wgmma, its sums need room too on their way
/// to other warps: not those `in_registers`.
int slots_that_fit(isa::Target, isa::CtaGroup, const std::vector<SlotPart>&, int others, bool in_registers = false,
                   int pairs = 1);

/// Whether running CTAs can take over the work of those that have not started.
bool has_launch_control(isa::Target);

/// Whether its tensor core is wgmma, whose sums the warps that multiply have in their registers: RegisterSums.
bool has_register_sums(isa::Target);

}  // namespace kiln::dsl
