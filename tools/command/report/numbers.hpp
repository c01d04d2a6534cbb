// Numbers on the command line.
#pragma once

#include <cstdint>
#include <string>

#include "dsl/size.hpp"

namespace kiln::command {

/// A whole number, decimal or 0x..., underscores allowed. Throws InputError "what: must be a whole number; got X".
std::uint64_t whole_number(const std::string& text, const std::string& what);

/// What an option takes: a whole number, for the form "MxNxK" three of them, and for "N,..." one or more. Throws
/// InputError as above.
dsl::Size size(const std::string& text, const dsl::SizeOption& option);

/// A number of seconds above 0.
double positive_number(const std::string& text, const std::string& what);

}  // namespace kiln::command
