// Runs PTX written in a test under the clock.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "harness/chip/chip_json.hpp"
#include "tests/unit/sim/run.hpp"
#include "timing/timed_schedule.hpp"

namespace kiln::test {

struct Timed {
  Run run{};
  std::vector<timing::ClusterTime> times{};

  double cycles() const { return times.at(0).cycles; }
  double until_stored() const { return cycles() + times.at(0).drain; }
};

/// The chip of a B200. MMAs compute nothing where a test does not ask for it.
inline const timing::Chip& b200() {
  static const timing::Chip chip = harness::chip_of("b200");
  return chip;
}
inline const timing::Surroundings no_values{.hits_l2 = true, .values = false};

inline Timed time_of(const std::string& ptx, launch::Contract contract, const timing::Surroundings& around,
                     const timing::Chip& chip = b200(), bool races = false) {
  timing::TimedSchedule schedule(chip, around);
  sim::Options options;
  options.schedule = &schedule;
  options.detect_races = races;
  Timed t;
  t.run = run(ptx, std::move(contract), options, &schedule);
  t.times = schedule.times();
  CHECK_MESSAGE(t.run.result.outcome == sim::Outcome::finished, t.run.findings());
  return t;
}

/// A kernel of one parameter, `out`, on some threads.
inline launch::Contract one_buffer(std::uint32_t threads, std::uint32_t ctas = 1) {
  launch::Contract c;
  c.buffers.push_back(buffer("out", 4096));
  launch::Launch l;
  l.grid = {ctas, 1, 1};
  l.block = {threads, 1, 1};
  l.params = {pointer("out")};
  c.launches.push_back(l);
  return c;
}

}  // namespace kiln::test
