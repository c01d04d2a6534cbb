// Waist in, PTX text out.
#pragma once

#include <string>

#include "ptx/ir/module.hpp"
#include "ptx/ir/verified.hpp"

namespace kiln::emit {

/// The PTX text of a verified module: what ptxas, the simulator and the user read.
std::string emit(const ir::Verified<ir::Module>&);

/// The same without the proof, for tests of the emitter and for tools that transform text they did not judge.
std::string emit_unverified(const ir::Module&);

}  // namespace kiln::emit
