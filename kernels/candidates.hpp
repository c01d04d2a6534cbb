// All ways in which the generator can build a problem, out of which one is chosen for a shape.
#pragma once

#include <span>
#include <vector>

#include "dsl/entry.hpp"
#include "kernels/strategy.hpp"

namespace kiln::kernels {

/// Whether a plan can be built for a target: what GemmPlan::check and GemmPlan::limit say, and what the target's tensor
/// core asks.
bool is_legal(const GemmPlan&, isa::Target);

/// Every combination of the values that fields of a strategy are tried with, in which the options that the sizes give
/// are as they are given: those that are legal, with as many slots as fit where their number is not given. The sizes
/// have m, n, k and ctas, and of a batch its extent.
std::vector<dsl::Candidate> candidates(const GemmProblem&, isa::Target, const dsl::Sizes&);

/// How a plan deals out a problem of these sizes.
launch::Tiling tiling(const GemmPlan&, const dsl::Sizes&);

}  // namespace kiln::kernels
