// From a rule to a finding: the one place that joins the catalogue's sentence and the words for what was found.
#pragma once

#include <string>

#include "ptx/rules/catalogue.hpp"

namespace kiln::rules {

/// What a broken verdict found, in the words of its rule's row; empty where the row has none. The verdict must be
/// broken.
std::string found(const Verdict&);

/// The same with the nearest legal value, for a reader that has no PTX text to repair.
std::string found_and_nearest(const Verdict&);

/// "<what must hold>; got <got>". An empty `got` says no more than the rule.
std::string sentence(std::string_view must, const std::string& got);

/// The finding of a broken rule, without a place. `got` replaces the row's words for what was found.
diag::Diagnostic finding(const Verdict&, const std::string& got = {});
diag::Diagnostic finding(Rule, const std::string& got);

/// The report that one of Kiln's limits is reached, without a place.
diag::Diagnostic finding(Limit, const std::string& got);

}  // namespace kiln::rules
