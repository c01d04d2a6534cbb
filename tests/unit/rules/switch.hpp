// This program is built with the rule switch: KILN_BREAK_RULE=<slug> in the environment makes that rule always hold,
// and then some check here must fail. Include it before any header of ptx/rules.
#pragma once

#ifndef KILN_RULE_SWITCH
#define KILN_RULE_SWITCH
#endif

#include <doctest/doctest.h>

#include "ptx/rules/verdict.hpp"

namespace kiln::test {

/// The verdict is that `rule` is broken.
inline bool is_broken(const rules::Verdict& v, rules::Rule rule) { return v.broken() && v.rule == rule; }

/// The same, with this value offered instead.
inline bool is_broken(const rules::Verdict& v, rules::Rule rule, std::int64_t nearest) {
  return is_broken(v, rule) && v.has_nearest && v.nearest == nearest;
}

}  // namespace kiln::test
