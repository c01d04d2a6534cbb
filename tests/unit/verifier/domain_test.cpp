#include "verifier/explore/domain.hpp"

#include <doctest/doctest.h>

namespace verifier_domain {

using kiln::verifier::explore::Domain;
using kiln::verifier::explore::Span;

namespace {

constexpr int width = 6;
constexpr std::uint64_t mask = 63;

bool within(const Span& s, std::uint64_t v) {
  return s.first <= s.last ? s.first <= v && v <= s.last : v >= s.first || v <= s.last;
}

}  // namespace

TEST_CASE("keeping and dropping spans, wrapped or not, does so for each number") {
  std::uint64_t seed = 1;
  const auto next = [&] { return (seed = seed * 6364136223846793005u + 1442695040888963407u) >> 40 & mask; };
  for (int run = 0; run < 2000; ++run) {
    Domain d(width);
    std::vector<bool> is(64, true);
    for (int step = 0; step < 3; ++step) {
      const Span s{next(), next()};
      const bool keep = next() & 1;
      keep ? d.keep(s) : d.drop(s);
      for (std::uint64_t v = 0; v <= mask; ++v) is[v] = is[v] && within(s, v) == keep;
    }
    std::uint64_t count = 0;
    for (std::uint64_t v = 0; v <= mask; ++v) {
      CHECK(d.has(v) == is[v]);
      count += is[v];
    }
    CHECK(d.count() == count);
    CHECK(d.empty() == (count == 0));
    for (std::uint64_t rest = 0; rest < 8; ++rest) {
      bool any = false;
      for (std::uint64_t v = rest; v <= mask; v += 8) any |= is[v];
      CHECK(d.has_rest(rest, 3) == any);
    }
  }
}

TEST_CASE("what lies in a span after its low bits were cleared is a span") {
  for (std::uint64_t first = 0; first <= mask; ++first)
    for (std::uint64_t last = first; last <= mask; ++last) {
      const auto before = Span{first, last}.before_clearing(2, mask);
      for (std::uint64_t v = 0; v <= mask; ++v)
        CHECK((before && within(*before, v)) == within({first, last}, v & ~std::uint64_t{3}));
    }
}

TEST_CASE("a word that has no upper end but that of its sign is open from its least number") {
  Domain d(32);
  CHECK(d.open_from() == 0u);
  d.keep(Span{5, 0x7FFFFFFF});
  CHECK(d.open_from() == 5u);
  d.keep(Span{0, 100});
  CHECK_FALSE(d.open_from());
}

}  // namespace verifier_domain
