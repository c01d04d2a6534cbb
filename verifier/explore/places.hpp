// A launch whose trip counts are in global memory, or whose tensor maps are in a table: its clusters, each by itself,
// with what its buffers and parameters hold.
#pragma once

#include <optional>

#include "verifier/explore/explore.hpp"

namespace kiln::verifier::explore {

/// What the clusters of the program's launch come to, each with the words that it finds in the launch's buffers and the
/// maps that it chooses; nothing where these say nothing, or where some cluster is not followed to its end.
std::optional<Explored> explore_places(const Program&, Deadline);

}  // namespace kiln::verifier::explore
