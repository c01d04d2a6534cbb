// From a rule to a finding: the one place that puts the catalogue's sentence and what was found together.
#pragma once

#include <string>

#include "ptx/rules/catalogue.hpp"

namespace kiln::rules {

/// "<what must hold>; got <got>". An empty `got` says no more than the rule.
inline std::string sentence(std::string_view must, const std::string& got) {
  return got.empty() ? std::string(must) : std::string(must) + "; got " + got;
}

/// The finding of a broken rule, without a place.
inline diag::Diagnostic finding(Rule r, const std::string& got) {
  const RuleInfo& rule = info(r);
  diag::Diagnostic d;
  d.severity = rule.severity;
  d.slug = rule.slug;
  d.message = sentence(rule.must, got);
  d.reference = rule.reference;
  return d;
}

/// The report that one of Kiln's limits is reached, without a place.
inline diag::Diagnostic finding(Limit l, const std::string& got) {
  const LimitInfo& limit = info(l);
  diag::Diagnostic d;
  d.severity = limit.severity;
  d.slug = limit.slug;
  d.message = sentence(limit.says, got);
  return d;
}

}  // namespace kiln::rules
