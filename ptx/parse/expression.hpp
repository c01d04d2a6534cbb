// Constant expressions, folded while they are read: operators as in C, on 64 bits and three types. Where PTX ISA
// "Integer Constant Expression Evaluation" and ptxas differ, ptxas is followed: & | ^ convert like +, the result of %
// is .u64, a shift count is taken modulo 64, and a choice keeps the type of what was chosen.
#pragma once

#include <optional>

#include "ptx/ir/module.hpp"
#include "ptx/parse/literal.hpp"
#include "ptx/parse/tokens.hpp"

namespace kiln::parse {

/// True when the next token can only begin a constant: a number, a sign, an operator, WARP_SZ or '('.
bool starts_constant(const Tokens&);

/// Reads and folds one expression; reports and returns nothing when it cannot.
std::optional<Constant> parse_constant(Tokens&);

/// The same where only an integer will do; `what` names it in the message ("alignment").
std::optional<std::int64_t> parse_integer(Tokens&, std::string_view what);
/// A single number, not an expression, in [low, high]: PTX wants no arithmetic in most directives.
std::optional<std::int64_t> parse_number(Tokens&, std::string_view what, std::int64_t low, std::int64_t high);

/// An integer or real operand. Literals keep their spelling; folded reals are written as 0d and their bits.
std::optional<ir::Operand> parse_constant_operand(Tokens&);

}  // namespace kiln::parse
