// Counts fates and prints them: by kernel and class, and whether the goals are met.
#pragma once

#include <vector>

#include "tests/mutation/survivors.hpp"

namespace kiln::mutation {

/// The table on standard output. Returns false when a survivor has no reason, when a row of the survivors' file is out
/// of date (only when `complete`), or when too few are killed.
bool report(const std::vector<Judged>&, const std::vector<SurvivorRow>&, bool complete);

}  // namespace kiln::mutation
