// What the lanes of a warp know of the rest of the grid.
#include <doctest/doctest.h>

#include "sim/order/knowledge.hpp"

namespace sim_knowledge {

using namespace kiln::sim;

namespace {

constexpr Component others = 100;

Message message_of(Component c, Epoch e) {
  Message m;
  m.happened.raise({c, e});
  return m;
}

Epoch known(const WarpKnowledge& w, int lane, Component c) { return w.of(lane).seen.happened.at(others + c); }

}  // namespace

TEST_CASE("lanes that take a message in one by one know what it says, the others do not") {
  WarpKnowledge w(0, {});
  for (int lane = 0; lane < 20; ++lane) w.acquire(1u << lane, message_of(others, 3), 1);
  for (int lane = 0; lane < warp_lanes; ++lane) CHECK(known(w, lane, 0) == (lane < 20 ? 3 : 0));
  w.acquire(all_lanes, message_of(others + 1, 5), 2);
  for (int lane = 0; lane < warp_lanes; ++lane) {
    CHECK(known(w, lane, 0) == (lane < 20 ? 3 : 0));
    CHECK(known(w, lane, 1) == 5);
  }
}

TEST_CASE("a lane that knew something else before keeps it to itself after a common message") {
  WarpKnowledge w(0, {});
  w.change(1u << 7, [](Mask, Knowledge& k) { k.seen.happened.raise({others + 2, 9}); });
  for (int lane = 0; lane < warp_lanes; ++lane) w.acquire(1u << lane, message_of(others, 4), 1);
  for (int lane = 0; lane < warp_lanes; ++lane) {
    CHECK(known(w, lane, 0) == 4);
    CHECK(known(w, lane, 2) == (lane == 7 ? 9 : 0));
  }
}

TEST_CASE("a lane that learns between two of its neighbours does not teach them") {
  WarpKnowledge w(0, {});
  w.acquire(1, message_of(others, 2), 1);
  w.change(1, [](Mask, Knowledge& k) { k.seen.happened.raise({others + 1, 6}); });
  w.acquire(2, message_of(others, 2), 1);
  w.acquire(4, message_of(others, 2), 1);
  CHECK(known(w, 0, 1) == 6);
  CHECK(known(w, 1, 1) == 0);
  CHECK(known(w, 2, 1) == 0);
  CHECK(known(w, 2, 0) == 2);
  CHECK(known(w, 3, 0) == 0);
}

TEST_CASE("messages without a name are each taken for what they are") {
  WarpKnowledge w(0, {});
  w.acquire(1, message_of(others, 2), 0);
  w.acquire(2, message_of(others, 8), 0);
  CHECK(known(w, 0, 0) == 2);
  CHECK(known(w, 1, 0) == 8);
}

}  // namespace sim_knowledge
