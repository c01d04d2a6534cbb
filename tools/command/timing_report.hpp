// What a timed run measured, for a person and for a program.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/command/summary.hpp"

namespace kiln::command {

/// Where and how it was measured, then one row of a Markdown table: sizes, times, speed beside cuBLAS's, error beside
/// what is allowed. Empty unless the run was timed.
std::string timing_text(const RunFacts&, const harness::RunReport&);

/// Every figure of it, null unless the run was timed.
nlohmann::ordered_json timing_json(const harness::RunReport&);

}  // namespace kiln::command
