// Input texts by name.
#pragma once

#include <string>

#include "ptx/diag/source.hpp"

namespace kiln::command {

/// A whole file, or stdin for "-". Throws InputError naming the file and the reason.
diag::SourcePtr read_source(const std::string& path);

/// The folder of a file, where relative paths inside it start; empty for stdin and files without a folder.
std::string folder_of(const std::string& path);

}  // namespace kiln::command
