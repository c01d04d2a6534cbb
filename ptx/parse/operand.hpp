// Operands of instructions and initialisers of variables.
#pragma once

#include <optional>

#include "ptx/ir/module.hpp"
#include "ptx/parse/tokens.hpp"

namespace kiln::parse {

/// What '(' begins: the argument list of a call, or a constant expression everywhere else.
enum class Parenthesis : std::uint8_t { expression, list };

/// One operand, or nothing after reporting why not.
std::optional<ir::Operand> parse_operand(Tokens&, Parenthesis);

/// The initialiser after the '=' of a variable: a constant, an address, generic(x)+4, 0xFF00(x), or a list of those.
std::optional<ir::Operand> parse_initializer(Tokens&);

}  // namespace kiln::parse
