// What a timed run measured, for a person.
#pragma once

#include <string>

#include "tools/command/report/summary.hpp"

namespace kiln::command {

/// Where and how it was measured, then one row of a Markdown table: sizes, times, speed beside cuBLAS's, error beside
/// what is allowed. Empty unless the run was timed.
std::string timing_text(const RunFacts&, const harness::RunReport&);

}  // namespace kiln::command
