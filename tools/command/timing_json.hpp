// What a timed run measured, for a program.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/pipeline/report.hpp"

namespace kiln::command {

/// Every figure of it, null unless the run was timed.
nlohmann::ordered_json timing_json(const harness::RunReport&);

}  // namespace kiln::command
