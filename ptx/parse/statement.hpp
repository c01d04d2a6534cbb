// The body of a function: blocks of statements.
#pragma once

#include "ptx/ir/module.hpp"
#include "ptx/parse/instruction.hpp"
#include "ptx/parse/tokens.hpp"

namespace kiln::parse {

/// "{ ... }"; the next token is '{'. Broken statements are reported and left out.
ir::Block parse_block(Tokens&, Mnemonics&);

}  // namespace kiln::parse
