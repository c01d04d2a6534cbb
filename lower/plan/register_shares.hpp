// How the registers of a CTA are shared out.
#pragma once

#include "lower/plan/facts.hpp"
#include "lower/plan/plan.hpp"

namespace kiln::lower {

/// Shares out the registers of a CTA whose engine begins at a warpgroup.
void share_registers(const Facts&, Plan&, std::uint32_t engine_needs);

}  // namespace kiln::lower
