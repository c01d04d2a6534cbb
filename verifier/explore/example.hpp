// Numbers for which all that a run has assumed holds. They make a finding more than a guess.
#pragma once

#include <map>
#include <optional>

#include "ptx/flow/evaluate.hpp"
#include "verifier/explore/state.hpp"

namespace kiln::verifier::explore {

/// Numbers for parameters and other unknown words.
using Example = std::map<flow::TermId, std::uint64_t>;

/// Numbers for which all that is assumed holds; nothing when none were found, which does not say that there are none.
std::optional<Example> find_example(const Assumed&, flow::Terms&, flow::Evaluator&);

}  // namespace kiln::verifier::explore
