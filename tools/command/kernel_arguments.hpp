// The options that name a kernel, and those that it brings along: --m, --n, --k and --a FILE.npy.
#pragma once

#include <string>

#include "tools/command/report/kernel_choice.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {

/// Adds KERNEL, --target and the sizes of the kernel that the command line names; with `inputs`, an option for each
/// buffer that the kernel reads. Where it names `gemm`, also those of the choice, and the kernel is chosen when the
/// options are read.
void add_kernel_arguments(CLI::App&, KernelChoice&, const Builder&, bool inputs);

/// The sizes, and of `gemm` the options of the choice, when the command line names a kernel; false when it names none.
bool add_kernel_sizes(CLI::App&, KernelChoice&, const Builder&);

}  // namespace kiln::command
