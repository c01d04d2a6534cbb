#include "verifier/explore/touches.hpp"

#include <doctest/doctest.h>

namespace verifier_touches {

using namespace kiln::verifier::explore;

namespace {

std::vector<EventId> events(const Touches& list) {
  std::vector<EventId> out;
  for (const Touch& t : list) out.push_back(t.event);
  return out;
}

}  // namespace

TEST_CASE("a list of touches holds any number of them in order, and loses those that are erased") {
  using Events = std::vector<EventId>;
  Touches list;
  CHECK(list.empty());
  for (EventId e = 1; e <= 5; ++e) {
    list.push_back({e, 1u << e});
    CHECK(list.size() == e);
  }
  CHECK(events(list) == Events{1, 2, 3, 4, 5});
  list.erase(list.begin() + 1);
  CHECK(events(list) == Events{1, 3, 4, 5});
  erase_if(list, [](const Touch& t) { return t.event > 3; });
  CHECK(events(list) == Events{1, 3});
  Touches few;
  few.push_back({1, 2}), few.push_back({3, 8});
  CHECK(list == few);
  few.erase(few.begin());
  CHECK_FALSE(list == few);
  list.erase(list.begin(), list.end());
  CHECK(list.empty());
  list.push_back({7, 1});
  CHECK(events(list) == Events{7});
  const Touches copy = list;
  list.clear();
  CHECK(list.empty());
  CHECK(events(copy) == Events{7});
}

}  // namespace verifier_touches
