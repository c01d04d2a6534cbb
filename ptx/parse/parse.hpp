// PTX text in, waist out.
#pragma once

#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::parse {

/// Parses a PTX module. Never throws and never crashes on bad text: what cannot be read is reported to `sink` with its
/// place, skipped to the next statement, and the rest is parsed. Opcodes that isa/opcodes.def does not know are kept
/// with their text. The module keeps `source`.
ir::Module parse(diag::SourcePtr source, diag::Sink& sink);

/// PTX that Kiln itself writes as text, for readability, and then uses as data: the statements of a function's body.
/// Throws InternalError, with the line, if the text does not parse.
std::vector<ir::Statement> own_statements(const std::string& text);

}  // namespace kiln::parse
