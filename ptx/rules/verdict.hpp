// A verdict is what every rule returns, at compile time and at run time.
#pragma once

#include <cstdint>
#include <type_traits>

namespace kiln::rules {

enum class Rule : std::uint8_t {
  none,
#define RULE(id, slug, severity, seen, must, reference) id,
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

/// The answer to "does this rule hold for these operands". Structural, so that it can be a template argument and show up
/// in a compiler's message. `unknown`: the operands are not known well enough; never to be read as legal.
struct Verdict {
  enum class Answer : std::uint8_t { legal, broken, unknown };

  Answer answer = Answer::legal;
  Rule rule = Rule::none;    // the rule that is broken, or could not be decided
  std::int64_t given = 0;    // what was found
  std::int64_t nearest = 0;  // the nearest legal value, for the fix-it
  bool has_nearest = false;

  constexpr bool ok() const { return answer == Answer::legal; }
  constexpr bool broken() const { return answer == Answer::broken; }
  constexpr bool unknown() const { return answer == Answer::unknown; }
  constexpr bool operator==(const Verdict&) const = default;
};

inline constexpr Verdict legal{};

/// The rule is broken; there is no nearest legal value to offer.
constexpr Verdict breaks(Rule r, std::int64_t given = 0) {
  if (is_switched_off(r)) return legal;
  return {Verdict::Answer::broken, r, given, 0, false};
}

/// The rule is broken by `given`; `nearest` would be legal.
constexpr Verdict breaks(Rule r, std::int64_t given, std::int64_t nearest) {
  if (is_switched_off(r)) return legal;
  return {Verdict::Answer::broken, r, given, nearest, true};
}

constexpr Verdict undecided(Rule r) { return {Verdict::Answer::unknown, r, 0, 0, false}; }

/// The first verdict that is not legal.
constexpr Verdict first(Verdict a) { return a; }
template <class... Rest>
constexpr Verdict first(Verdict a, Rest... rest) {
  return a.ok() ? first(rest...) : a;
}

}  // namespace kiln::rules
