// The kernels that the command offers: those of the program, and those of modules that it was told to load.
#pragma once

#include <string>
#include <vector>

#include "dsl/entry.hpp"

namespace kiln::command {

/// Loads the kernels of a shared object that kiln_add_module made. They come before those that are there, so that a name
/// means the newest. Throws InputError for a file that is no such object, or one of another version of Kiln.
void load_kernels(const std::string& path);

/// Every kernel, in the order in which `kiln list` prints them.
const std::vector<dsl::Entry>& offered_kernels();

}  // namespace kiln::command
