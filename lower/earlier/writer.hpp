// How instructions of newer targets are written for earlier ones.
#pragma once

#include <vector>

#include "lower/code.hpp"
#include "ptx/ir/code.hpp"

namespace kiln::lower {

/// Writes what stands in the place of an instruction, without its guard.
using Writer = void (*)(Builder&, const ir::Operation&);

/// The operands as they are written.
inline const std::vector<ir::Operand>& operands(const ir::Operation& op) { return op.instruction->operands; }

}  // namespace kiln::lower
