// Rules of wgmma that only a run can see. PTX ISA "Asynchronous Warpgroup Level Matrix Instructions".
#pragma once

#include "ptx/isa/wgmma.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// `warps` of the CTA from the group's first on; a warpgroup begins at a warp whose number is a multiple of four.
constexpr Verdict wgmma_warpgroup(std::int64_t warps) {
  return warps >= isa::warps_per_warpgroup ? legal : breaks(Rule::wgmma_warpgroup, warps, isa::warps_per_warpgroup);
}

}  // namespace kiln::rules
