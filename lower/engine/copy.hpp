// tcgen05.cp as a command of the engine: rows of shared memory, as a matrix descriptor says where they lie, into the
// image.
#pragma once

#include "lower/engine/registers.hpp"

namespace kiln::lower {

/// Copy number `number` of the plan: what this thread does of it.
void write_copy(Builder&, const Plan&, const EngineRegisters&, std::size_t number);

}  // namespace kiln::lower
