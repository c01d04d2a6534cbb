// The time that exploring may take.
#include <doctest/doctest.h>

#include <thread>

#include "verifier/work_clock.hpp"

using kiln::verifier::WorkClock;
using namespace std::chrono_literals;

TEST_CASE("a budget is time of work: waiting for the processor takes none of it") {
  const auto before = WorkClock::now();
  std::this_thread::sleep_for(100ms);
  CHECK(WorkClock::now() - before < 50ms);
  const auto begun = WorkClock::now();
  while (WorkClock::now() - begun < 5ms) {
  }
  CHECK(WorkClock::now() - before >= 5ms);
}
