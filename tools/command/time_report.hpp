// What `kiln time` says about a prediction.
#pragma once

#include <string>

#include "timing/predict.hpp"

namespace kiln::command {

/// For a person. `name`: of the kernel or the file.
std::string time_text(const std::string& name, const timing::Chip&, const timing::Prediction&);
/// The same with every figure, as JSON.
std::string time_json(const std::string& name, const timing::Chip&, const timing::Prediction&);

}  // namespace kiln::command
