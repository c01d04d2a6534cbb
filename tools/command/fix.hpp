// kiln check --fix: repairs of findings, in place.
#pragma once

#include <functional>
#include <string>

#include "ptx/diag/diagnostic.hpp"

namespace kiln::command {

/// Finds what is wrong with a text.
using Judge = std::function<diag::Sink(const diag::SourcePtr&)>;

/// Applies fix-its that insert something until none is left, replaces the file as a whole if anything changed (the text
/// of "-" goes to stdout either way), says on stderr what was done, and returns what is left to find in the new text.
/// Throws InputError when the file cannot be written.
diag::Sink fix(const std::string& path, const diag::SourcePtr&, const Judge&);

}  // namespace kiln::command
