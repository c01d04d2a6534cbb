// PTX that the program itself writes as text, because that is how people read it, and goes on with as data.
#pragma once

#include <string>
#include <vector>

#include "ptx/ir/module.hpp"

namespace kiln::parse {

/// What a function's body may hold. Throws InternalError, with the line, for text that does not parse: it is all ours.
std::vector<ir::Statement> own_statements(const std::string& text);
/// The same at module scope.
std::vector<ir::Item> own_items(const std::string& text);

}  // namespace kiln::parse
