// All opcodes in a row, for what asks something of each.
#pragma once

#include "ptx/isa/opcodes.hpp"

namespace kiln::isa {

inline constexpr Opcode all_opcodes[] = {
#define OPCODE(id, ...) Opcode::id,
#include "ptx/isa/opcodes.def"
#undef OPCODE
};

}  // namespace kiln::isa
