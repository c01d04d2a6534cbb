// The options that name versions of PTX and of ptxas.
#pragma once

#include <string>

#include "ptx/ir/module.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {

/// --ptx-version, which must be one that Kiln knows.
void add_ptx_version(CLI::App&, std::string& to, const std::string& help);

/// Makes what --ptx-version said the `.version` of a module; nothing where it was not given.
void pin_ptx_version(ir::Module&, const std::string& to);

/// --ptxas, the same of versions of ptxas.
void add_ptxas_version(CLI::App&, std::string& to, const std::string& help);

}  // namespace kiln::command
