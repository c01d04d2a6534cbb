// What the Tileiras compiler demands beyond the PTX ISA. Asked under Profile::tileiras alone.
#pragma once

#include "ptx/isa/mma_form.hpp"
#include "ptx/isa/targets.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// It registers tcgen05 for two architectures; ptxas takes sm_110 too.
constexpr Verdict tileiras_target(isa::Target t) {
  return t.sm == 100 || t.sm == 103 ? legal : breaks(Rule::tileiras_target, t.sm, 103);
}

/// `encloses`: on every path the allocation is made before the use and freed after it.
constexpr Verdict tileiras_alloc_scope(bool encloses) { return encloses ? legal : breaks(Rule::tileiras_alloc_scope); }

/// `escapes`: the address leaves the function.
constexpr Verdict tileiras_alloc_escape(bool escapes) { return escapes ? breaks(Rule::tileiras_alloc_escape) : legal; }

/// Scales change with every step, so the Tileiras compiler never keeps an operand in the collector.
constexpr Verdict tileiras_scaled_collector(const isa::MmaForm& f, bool discards) {
  return !f.block_scale || discards ? legal : breaks(Rule::tileiras_scaled_collector);
}

/// `together`: values and metadata of a sparse A lie in one allocation.
constexpr Verdict tileiras_metadata(bool together) { return together ? legal : breaks(Rule::tileiras_metadata); }

}  // namespace kiln::rules
