// A trace in the trace-event format that Perfetto (ui.perfetto.dev) and chrome://tracing read.
#pragma once

#include <cstdint>
#include <string>

#include "sim/views/trace.hpp"

namespace kiln::harness {

/// What a tick is. The format knows microseconds only; `note` and `clusters` stand in its metadata.
struct TraceClock {
  std::string note{};
  std::uint32_t ticks_per_microsecond = 1;
  std::string clusters{};  // how they relate to each other; empty: not given
};

/// The clock of simulated runs: one tick is written as one microsecond.
inline const TraceClock simulated_clock{
    "simulated ticks, not time: one for each warp instruction of a cluster; a tick is shown as one microsecond", 1,
    "all begin at the start of their launch"};

/// The whole document.
std::string trace_json(const sim::Trace&, const std::string& name, const TraceClock& = simulated_clock);

}  // namespace kiln::harness
