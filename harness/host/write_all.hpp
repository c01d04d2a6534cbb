// Bytes to a pipe or a file that is open.
#pragma once

#include <string_view>

namespace kiln::harness {

/// Writes all of it, in as many parts as the descriptor takes. False when it takes no more.
bool write_all(int descriptor, std::string_view);

}  // namespace kiln::harness
