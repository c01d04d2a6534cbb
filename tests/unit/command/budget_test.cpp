#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "tools/command/judge.hpp"

namespace command_budget {

using namespace kiln;
using std::chrono::milliseconds;

TEST_CASE("what else a machine does, ptxas included, takes nothing from the time to explore") {
  const auto begun = verifier::WorkClock::now();
  std::this_thread::sleep_for(milliseconds(300));
  CHECK(command::time_to_explore(1, begun) > milliseconds(700));  // of 800
  while (verifier::WorkClock::now() - begun < milliseconds(300)) {
  }
  CHECK(command::time_to_explore(1, begun) <= milliseconds(560));
  CHECK(command::time_to_explore(0.1, begun) == milliseconds(1));
}

}  // namespace command_budget
