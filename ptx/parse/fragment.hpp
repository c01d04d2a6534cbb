// PTX that Kiln itself writes as text, for readability, and then uses as data.
#pragma once

#include <string>
#include <vector>

#include "ptx/ir/module.hpp"

namespace kiln::parse {

/// Statements of a function's body. Throws InternalError, with the line, if the text, which is Kiln's own, does not
/// parse.
std::vector<ir::Statement> own_statements(const std::string& text);
/// The same at module scope.
std::vector<ir::Item> own_items(const std::string& text);

}  // namespace kiln::parse
