// A prediction to look at: the timeline of its first clusters for ui.perfetto.dev, and a page of its own.
#pragma once

#include <string>

#include "timing/predict.hpp"

namespace kiln::command {

/// A trace-event JSON: a process for each CTA of each launch, a thread for each warp of a role and each resource.
/// Microseconds at the prediction's clock.
std::string time_trace(const timing::Prediction&);

/// One HTML file without a script, or anything from elsewhere: the figures, where the cycles went, the timeline.
std::string time_page(const std::string& name, const timing::Chip&, const timing::Prediction&);

}  // namespace kiln::command
