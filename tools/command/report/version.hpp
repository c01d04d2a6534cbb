// Which Kiln this is.
#pragma once

#include <string_view>

namespace kiln::command {

/// "0.1.0": the version of CMakeLists.txt.
std::string_view version();

}  // namespace kiln::command
