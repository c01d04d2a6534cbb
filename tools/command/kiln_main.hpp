// The command's entry point, for programs that bring their own kernels (CMake: kiln_add_kernels).
#pragma once

namespace kiln {

/// Parses the command line, does what it says, and returns the exit code: 0 clean, 1 errors, 2 unreadable input or
/// flags, 3 incomplete, 4 a bug of Kiln's. Never throws.
int kiln_main(int argc, char** argv);

}  // namespace kiln
