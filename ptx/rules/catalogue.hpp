// The catalogue's texts: what a rule is called, what it demands, how severe it is and where it comes from.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// What can find the rule broken; rules.def says what each word means.
enum class Seen : std::uint8_t { both, ptx, types, build, launch, contract, run, explore, ptxas };

struct RuleInfo {
  Rule rule;
  std::string_view name;  // the enumerator
  std::string_view slug;
  diag::Severity severity;
  Seen seen;
  std::string_view given;  // words for the verdict's value
  std::string_view must;
  std::string_view reference;
};

/// All rules in the order of rules.def.
inline constexpr std::array catalogue{
#define RULE(id, slug, severity, seen, given, must, reference) \
  RuleInfo{Rule::id, #id, slug, diag::Severity::severity, Seen::seen, given, must, reference},
#include "ptx/rules/rules.def"
#undef RULE
};

constexpr const RuleInfo& info(Rule r) { return catalogue[std::size_t(r) - 1]; }

constexpr std::optional<Rule> find_rule(std::string_view slug) {
  for (const RuleInfo& i : catalogue)
    if (i.slug == slug) return i.rule;
  return std::nullopt;
}

/// Where Kiln's own knowledge ends. A limit is not a rule: nothing is known to be wrong.
enum class Limit : std::uint8_t {
#define LIMIT(id, slug, severity, says) id,
#include "ptx/rules/limits.def"
#undef LIMIT
};

struct LimitInfo {
  Limit limit;
  std::string_view slug;
  diag::Severity severity;
  std::string_view says;
};

/// All limits in the order of limits.def.
inline constexpr std::array limits{
#define LIMIT(id, slug, severity, says) LimitInfo{Limit::id, slug, diag::Severity::severity, says},
#include "ptx/rules/limits.def"
#undef LIMIT
};

constexpr const LimitInfo& info(Limit l) { return limits[std::size_t(l)]; }

constexpr std::optional<Limit> find_limit(std::string_view slug) {
  for (const LimitInfo& i : limits)
    if (i.slug == slug) return i.limit;
  return std::nullopt;
}

}  // namespace kiln::rules
