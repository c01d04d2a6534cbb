// The catalogue's texts: what a rule is called, what it demands, how severe it is and where it comes from.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// Who can find the rule broken: the DSL's types, the verifier on PTX text, the kernel builder, or whoever has a launch
/// contract (`launch`: the verifier's check_contract and the DSL's types; `contract`: check_contract alone), or the
/// simulator on the path that it executes (`run`), or `kiln check --lint` from what exploring finds without an instruction
/// (`explore`) or from what ptxas says (`ptxas`).
enum class Seen : std::uint8_t { both, ptx, types, build, launch, contract, run, explore, ptxas };

struct RuleInfo {
  Rule rule;
  std::string_view name;  // the enumerator
  std::string_view slug;
  diag::Severity severity;
  Seen seen;
  std::string_view must;
  std::string_view reference;
};

/// All rules in the order of rules.def.
inline constexpr std::array catalogue{
#define RULE(id, slug, severity, seen, must, reference) \
  RuleInfo{Rule::id, #id, slug, diag::Severity::severity, Seen::seen, must, reference},
#include "ptx/rules/rules.def"
#undef RULE
};

constexpr const RuleInfo& info(Rule r) { return catalogue[std::size_t(r) - 1]; }

constexpr std::optional<Rule> find_rule(std::string_view slug) {
  for (const RuleInfo& i : catalogue)
    if (i.slug == slug) return i.rule;
  return std::nullopt;
}

/// Where Kiln's own knowledge ends. No rule: nothing is known to be wrong.
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
