// Variables of every space, registers and parameters included.
#pragma once

#include <vector>

#include "ptx/ir/module.hpp"
#include "ptx/parse/tokens.hpp"

namespace kiln::parse {

/// ".visible" and its like; nothing for any other word.
std::optional<ir::Linkage> parse_linkage(std::string_view word);

/// Whether names may be missing or be '_', as in prototypes.
enum class Names : std::uint8_t { required, optional };

/// One declaration from its first directive to its semicolon; appends a variable for each name.
bool parse_variables(Tokens&, std::vector<ir::Variable>& out);

/// "(a, b)": the parameters or results of a function. The next token is '('.
bool parse_parameters(Tokens&, Names, std::vector<ir::Variable>& out);

/// ".attribute(a, b)" after its keyword: appends "a" and "b".
bool parse_attributes(Tokens&, std::vector<std::string>& out);

}  // namespace kiln::parse
