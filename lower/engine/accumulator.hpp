// The accumulator of the engine's warps: in registers while MMAs add to it, in the image when it may be read.
#pragma once

#include "lower/engine/registers.hpp"

namespace kiln::lower {

/// Sums from the image to registers.
void load_sums(Builder&, const Plan&, const EngineRegisters&, const Share&);
/// Sums from registers to the image.
void store_sums(Builder&, const Plan&, const EngineRegisters&, const Share&);

}  // namespace kiln::lower
