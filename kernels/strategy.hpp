// The strategies of a generated GEMM as the options of the command say them.
#pragma once

#include "kernels/problem.hpp"

namespace kiln::kernels {

/// The options --m, --n, --k, --ctas, and those of a strategy: --tile, --stages, --cta-group, --accumulators,
/// --swizzle, --epilogue-width, --rows-together, --launch-control, --swap-operands, --tma-store, --storers,
/// --splits, --all-add, --stream-k, --pairs, --transpose-a, --transpose-b; for a problem that is batched, --batch too.
std::span<const dsl::SizeOption> options(const GemmProblem&);
/// A strategy as these options say it; from --epilogue-width on only where they are not the problem's.
dsl::Strategy described(const GemmProblem&, const GemmPlan&);
/// The plan of a problem with the strategy that the options say; what they do not say is the first listed strategy's
/// that has what they do say, or else the first one's with as many CTAs to a tile. Throws diag::InputError where the
/// strategy breaks a rule, with the rule's slug, or is none that the generator has.
GemmPlan planned(const GemmProblem&, const dsl::Sizes&);
/// The same without a look at the rules and at what is listed: the first listed strategy, or the first one with as many
/// CTAs to a tile, with what the options say.
GemmPlan given_plan(const GemmProblem&, const dsl::Sizes&);

}  // namespace kiln::kernels
