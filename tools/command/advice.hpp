// What a prediction and ptxas let one say about a kernel without a GPU: registers, waves, what binds.
#pragma once

#include <string>
#include <vector>

#include "ptx/diag/source.hpp"
#include "ptx/isa/targets.hpp"
#include "timing/predict.hpp"

namespace kiln::command {

/// One sentence for each thing that costs time and can be changed; where there is no ptxas to ask
/// for registers, the first sentence says so.
std::vector<std::string> advice_on(const diag::SourcePtr& ptx, isa::Target, const timing::Prediction&);

}  // namespace kiln::command
