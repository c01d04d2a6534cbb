#include "tests/unit/rules/switch.hpp"

#include <cstdlib>
#include <set>

#include "ptx/rules/finding.hpp"

using namespace kiln::rules;

namespace {

// Set before doctest starts.
const bool switched = [] {
  const char* slug = std::getenv("KILN_BREAK_RULE");
  const auto rule = slug ? find_rule(slug) : std::nullopt;
  if (rule) switched_off = *rule;
  return rule.has_value();
}();

}  // namespace

TEST_CASE("the environment names a rule or nothing") { CHECK(switched == (std::getenv("KILN_BREAK_RULE") != nullptr)); }

TEST_CASE("every rule can be broken, with and without a value to offer") {
  for (const RuleInfo& i : catalogue) {
    CAPTURE(i.slug);
    CHECK(breaks(i.rule, 7).broken());
    CHECK(breaks(i.rule, 7, 8).has_nearest);
    CHECK(undecided(i.rule).unknown());
  }
}

TEST_CASE("slugs are unique and find their rule") {
  std::set<std::string_view> slugs;
  for (const RuleInfo& i : catalogue) {
    CHECK(slugs.insert(i.slug).second);
    CHECK(find_rule(i.slug) == i.rule);
    CHECK(&info(i.rule) == &i);
  }
  CHECK_FALSE(find_rule("no-such-rule"));
}

TEST_CASE("limits are no rules, and are found by their slug") {
  for (const LimitInfo& i : limits) {
    CHECK_FALSE(find_rule(i.slug));
    CHECK(find_limit(i.slug) == i.limit);
    CHECK(&info(i.limit) == &i);
  }
  CHECK_FALSE(find_limit("memory-bounds"));
}

TEST_CASE("a finding is the sentence, what was found, the severity and the source") {
  const auto d = finding(Rule::bulk_size, "100");
  CHECK(d.message == std::string(info(Rule::bulk_size).must) + "; got 100");
  CHECK(d.slug == "bulk-size");
  CHECK(d.reference == info(Rule::bulk_size).reference);
  CHECK(finding(Rule::trap_reached, {}).message == info(Rule::trap_reached).must);
  CHECK(finding(Limit::unmodelled, "this").severity == kiln::diag::Severity::incomplete);
}

TEST_CASE("what must hold is one sentence without a full stop") {
  for (const RuleInfo& i : catalogue) {
    CAPTURE(i.slug);
    CHECK(i.must.size() > 20);
    CHECK(i.must.back() != '.');
    CHECK_FALSE(i.reference.empty());
  }
}

TEST_CASE("the first verdict that is not legal speaks for all") {
  const Verdict a = breaks(Rule::mma_m, 1), b = breaks(Rule::mma_n, 2);
  CHECK(first(legal, a, b) == a);
  CHECK(first(legal, legal).ok());
  CHECK(first(undecided(Rule::mma_m), b).unknown());
}
