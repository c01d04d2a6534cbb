// The productions of PTX that are more than one token and less than a module. Each reports what it cannot read.
#pragma once

#include <optional>

#include "ptx/ir/module.hpp"
#include "ptx/parse/instruction.hpp"
#include "ptx/parse/tokens.hpp"

namespace kiln::parse {

/// A kernel or a device function. The next token is '.entry' or '.func'; `begin` is where the linkage before it starts.
std::optional<ir::Function> parse_function(Tokens&, Mnemonics&, ir::Linkage, std::uint32_t begin);

/// The body of a function: "{ ... }"; the next token is '{'. Broken statements are reported and left out.
ir::Block parse_block(Tokens&, Mnemonics&);

}  // namespace kiln::parse
