// kiln check --lint: what is legal and costs.
#pragma once

#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::command {

/// The verifier's notes, and for each entry what ptxas makes of it: registers, spills, CTAs that share an SM. Without a
/// ptxas that takes the text, says on stderr why that part is left out.
void lint(const ir::Module&, diag::Sink&);

}  // namespace kiln::command
