// The application that subcommands are added to: what every program with them does with its command line.
#pragma once

#include <functional>

#include "tools/command/subcommands.hpp"

namespace kiln::command {

using AddSubcommands = std::function<void(const Builder&)>;

/// Parses the command line with the subcommands that `add` adds, does what it says, and returns the exit code. Unknown
/// words get one line that names what was probably meant. `choose`: as KernelChoice::choose. Never throws.
int run_application(int argc, char** argv, const AddSubcommands& add,
                    const std::function<void(KernelChoice&)>& choose = {});

}  // namespace kiln::command
