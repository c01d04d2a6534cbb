// What `kiln run` and `kiln sim` say at the end, for a program.
#pragma once

#include <string>

#include "tools/command/report/summary.hpp"

namespace kiln::command {

/// One JSON document: everything of the text and every figure in it, the findings included.
std::string summary_json(const RunFacts&, const harness::RunReport&);

}  // namespace kiln::command
