// The options that name a kernel, and those that it brings along: --m, --n, --k and --a FILE.npy.
#pragma once

#include <span>
#include <string>

#include "tools/command/report/kernel_choice.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {

/// Adds KERNEL, --target and the sizes of the kernel that the words name; with `inputs`, an option for each buffer that
/// the kernel reads.
void add_kernel_arguments(CLI::App&, KernelChoice&, std::span<const std::string> words, bool inputs);

/// The sizes alone, when the words name a kernel; false when they name none.
bool add_kernel_sizes(CLI::App&, KernelChoice&, std::span<const std::string> words);

}  // namespace kiln::command
