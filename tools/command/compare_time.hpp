// `--compare-time`: the time that is predicted beside the one that was measured.
#pragma once

#include <string>

#include "harness/pipeline/report.hpp"
#include "launch/contract.hpp"
#include "ptx/diag/source.hpp"
#include "tools/command/role_waits.hpp"

namespace kiln::command {

/// A prediction of what was timed.
struct ComparedTime {
  std::string chip{};  // its title
  double predicted_us = 0, least_us = 0, most_us = 0, launch_us = 0;
  double clock = 0, cycles = 0;  // GHz and cycles of the prediction
  double measured_us = 0;
  double measured_cycles = 0;  // without launches, at the SM clock half-way through; 0: not known
};

/// Predicts what the report's run was timed for. `chip`: a name or a file; empty: by the GPU's name. Throws InputError
/// for a GPU that no chip file is for, and where there is no prediction.
ComparedTime compare_time(const harness::RunReport&, const diag::SourcePtr& ptx, const launch::Contract&,
                          const std::string& folder, const std::string& chip);

/// The waits of each role in `profile`, which a GPU recorded, beside the predicted ones; chip and errors as above.
std::vector<RoleWait> compare_waits(const harness::RunReport&, const std::string& profile, const diag::SourcePtr& ptx,
                                    const launch::Contract&, const std::string& folder, const std::string& chip);

std::string compared_text(const ComparedTime&);
/// A summary in JSON with the comparison in it.
std::string with_comparison(const std::string& summary, const ComparedTime&);

}  // namespace kiln::command
