// What `kiln time` says about a prediction.
#pragma once

#include <string>
#include <vector>

#include "timing/predict.hpp"

namespace kiln::command {

/// The prediction after one change.
struct WhatIf {
  std::string what{};
  timing::Predicted cycles{}, seconds{};
};

/// For a person. `name`: of the kernel or the file.
std::string time_text(const std::string& name, const timing::Chip&, const timing::Prediction&,
                      const std::vector<WhatIf>& = {}, const std::vector<std::string>& advice = {});
/// The same with every figure, as JSON.
std::string time_json(const std::string& name, const timing::Chip&, const timing::Prediction&,
                      const std::vector<WhatIf>& = {}, const std::vector<std::string>& advice = {});

}  // namespace kiln::command
