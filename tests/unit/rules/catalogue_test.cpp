#include "tests/unit/rules/switch.hpp"

#include <cstdlib>
#include <set>

#include "ptx/isa/modifiers.hpp"
#include "ptx/isa/swizzle.hpp"
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
  const auto d = finding(Verdict{Rule::bulk_size, 100});
  CHECK(d.message == std::string(info(Rule::bulk_size).must) + "; got 100");
  CHECK(d.slug == "bulk-size");
  CHECK(d.reference == info(Rule::bulk_size).reference);
  CHECK(finding(Verdict{Rule::bulk_size, 100}, "many").message == std::string(info(Rule::bulk_size).must) + "; got many");
  CHECK(finding(Verdict{Rule::trap_reached}).message == info(Rule::trap_reached).must);
  CHECK(finding(Limit::unmodelled, "this").severity == kiln::diag::Severity::incomplete);
}

TEST_CASE("the words for a value are complete for every rule") {
  for (const RuleInfo& i : catalogue)
    for (const std::int64_t value : {0, 1}) {
      const std::string words = found({i.rule, value, 2, true});
      CAPTURE(i.slug);
      CAPTURE(words);
      CHECK(words.find_first_of("{}|") == std::string::npos);
    }
}

TEST_CASE("the words for a value have its unit, its base or its name") {
  CHECK(found({Rule::alloc_columns, 48}) == "48");
  CHECK(found({Rule::alloc_budget, 544, 512, true}) == "544 columns of 512");
  CHECK(found({Rule::tma_alignment, 0x40}) == "0x40");
  CHECK(found({Rule::mma_types, 0}) == "a type code that the kind does not define");
  CHECK(found({Rule::mma_types, int(kiln::isa::ScalarType::f32)}) == "f32");
  CHECK(found({Rule::sdesc_atom32, int(kiln::isa::Swizzle::b64)}) == "the 64B swizzle");
  CHECK(found({Rule::ws_kind, int(kiln::isa::MmaKind::mxf4)}) == "kind::mxf4");
  CHECK(found({Rule::scale_vector, int(kiln::isa::ScaleVector::x2)}) == "scale_vec::2X");
  CHECK(found({Rule::cp_shape, int(kiln::isa::DataShape::s4x256b)}) == "4x256b");
  CHECK(found({Rule::idesc_sparse, 0}) == "a dense descriptor on a sparse MMA");
  CHECK(found({Rule::idesc_sparse, 1}) == "a sparse descriptor on a dense MMA");
  CHECK(found({Rule::race, 3}).empty());
}

TEST_CASE("the nearest legal value is said once, where there is one") {
  CHECK(found_and_nearest({Rule::alloc_columns, 48, 64, true}) == "48, the nearest legal value is 64");
  CHECK(found_and_nearest({Rule::tmem_range, 40, 32, true}) == "40 columns of 32");
  CHECK(found_and_nearest({Rule::alloc_columns, 48}) == "48");
  CHECK(found_and_nearest({Rule::ring_release, 0, 1, true}).empty());
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

}
