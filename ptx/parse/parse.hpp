// PTX text in, waist out.
#pragma once

#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::parse {

/// Parses a PTX module. Never throws and never crashes on bad text: what cannot be read is reported to `sink` with its
/// place, skipped to the next statement, and the rest is parsed. Opcodes that isa/opcodes.def does not know are kept
/// with their text. The module keeps `source`.
ir::Module parse(diag::SourcePtr source, diag::Sink& sink);

}  // namespace kiln::parse
