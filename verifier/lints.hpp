// What is legal and still worth a note.
#pragma once

#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::verifier {

/// Notes on a module that check() found no errors in: registers that setmaxnreg moves, static shared memory, tensor
/// memory that no instruction touches, scopes that are not written. Only what is certain is reported. Findings are
/// sorted by place.
void check_lints(const ir::Module&, diag::Sink&);

}  // namespace kiln::verifier
