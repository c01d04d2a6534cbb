// Directives that are neither declarations nor functions: lines of debug information, pragmas, tables of targets.
#pragma once

#include <optional>

#include "ptx/ir/module.hpp"
#include "ptx/parse/tokens.hpp"

namespace kiln::parse {

/// .loc file line column {, function_name label {, inlined_at file line column}}
std::optional<ir::Loc> parse_loc(Tokens&);

/// .file 1 "name" {, time, size}
std::optional<ir::Directive> parse_file(Tokens&);
/// .pragma "a", "b"; and .alias a, b;
std::optional<ir::Directive> parse_pragma(Tokens&);
std::optional<ir::Directive> parse_alias(Tokens&);
/// .section name { ... }: the text between the braces is kept to the byte.
std::optional<ir::Directive> parse_section(Tokens&);
/// A line of @@DWARF.
ir::Directive parse_dwarf(Tokens&);

/// True for the words after "name:" that make a table and not a label.
bool is_table_directive(std::string_view word);
/// .branchtargets a, b; or .calltargets f, g; or .callprototype (r) _ (a, b);
std::optional<ir::Table> parse_table(Tokens&, std::string name, ir::At at);

/// True for the directives that stand between a function's head and its body.
bool is_performance_directive(std::string_view word);
std::optional<ir::Performance> parse_performance(Tokens&);

}  // namespace kiln::parse
