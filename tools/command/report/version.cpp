#include "tools/command/report/version.hpp"

namespace kiln::command {

std::string_view version() { return KILN_VERSION; }

}  // namespace kiln::command
