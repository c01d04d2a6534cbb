// A verdict is what every rule returns, at compile time and at run time.
#pragma once

#include <cstdint>
#include <type_traits>

namespace kiln::rules {

enum class Rule : std::uint8_t {
  none,
#define RULE(id, slug, severity, seen, given, must, reference) id,
#include "ptx/rules/rules.def"
#undef RULE
};

#ifdef KILN_RULE_SWITCH
/// Test builds only: this rule always holds. Set from the environment by the test binary.
inline Rule switched_off = Rule::none;
#endif

/// True for the one rule that a test build has broken on purpose. Elsewhere always false.
constexpr bool is_switched_off([[maybe_unused]] Rule r) {
#ifdef KILN_BREAK_RULE
  if (r == Rule::KILN_BREAK_RULE) return true;
#endif
#ifdef KILN_RULE_SWITCH
  if (!std::is_constant_evaluated() && r == switched_off) return true;
#endif
  return false;
}

/// The answer to "does this rule hold for these operands". A structural type: it can be a template argument, and a
/// compiler's message shows it. There is no third answer: a rule is asked only with operands that are known.
struct Verdict {
  Rule rule = Rule::none;    // the rule that is broken; none: legal
  std::int64_t given = 0;    // what was found; rules.def has the words for it
  std::int64_t nearest = 0;  // the nearest legal value, for the fix-it
  bool has_nearest = false;

  constexpr bool ok() const { return rule == Rule::none; }
  constexpr bool broken() const { return rule != Rule::none; }
  constexpr bool operator==(const Verdict&) const = default;
};

inline constexpr Verdict legal{};

/// The rule is broken; there is no nearest legal value to offer.
constexpr Verdict breaks(Rule r, std::int64_t given = 0) {
  if (is_switched_off(r)) return legal;
  return {r, given, 0, false};
}

/// The rule is broken by `given`; `nearest` would be legal.
constexpr Verdict breaks(Rule r, std::int64_t given, std::int64_t nearest) {
  if (is_switched_off(r)) return legal;
  return {r, given, nearest, true};
}

/// The first broken verdict, or legal.
constexpr Verdict first(Verdict a) { return a; }
template <class... Rest>
constexpr Verdict first(Verdict a, Rest... rest) {
  return a.ok() ? first(rest...) : a;
}

}  // namespace kiln::rules
