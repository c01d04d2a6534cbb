// Numbers on the command line.
#pragma once

#include <cstdint>
#include <string>

namespace kiln::command {

/// A whole number, decimal or 0x..., underscores allowed. Throws InputError "what: must be a whole number; got X".
std::uint64_t whole_number(const std::string& text, const std::string& what);

/// A number of seconds above 0.
double positive_number(const std::string& text, const std::string& what);

}  // namespace kiln::command
