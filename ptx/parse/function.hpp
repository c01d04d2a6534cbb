// A kernel or a device function: its head, its directives, its body.
#pragma once

#include <optional>

#include "ptx/ir/module.hpp"
#include "ptx/parse/instruction.hpp"
#include "ptx/parse/tokens.hpp"

namespace kiln::parse {

/// The next token is '.entry' or '.func'; `begin` is where the linkage before it starts.
std::optional<ir::Function> parse_function(Tokens&, Mnemonics&, ir::Linkage, std::uint32_t begin);

}  // namespace kiln::parse
