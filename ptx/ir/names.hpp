// What the DSL leaves in PTX of a program's words: roles as labels, arrays of barriers as symbols.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ptx/ir/code.hpp"

namespace kiln::ir {

/// Begins the label where a role begins; its name follows.
inline constexpr std::string_view role_prefix = "role_";

/// The role whose label `role_<name>` stands before an operation; empty when there is none.
std::string_view role_of(const Code&, const Operation&);

/// "in_full[2]": a place in a symbol of `bytes` whose elements have `element_bytes`; "in_full+4" between elements.
std::string element_name(const std::string& symbol, std::uint64_t bytes, std::uint64_t offset,
                         std::uint64_t element_bytes);

}  // namespace kiln::ir
