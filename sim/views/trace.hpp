// What a run did when, as data: which warps executed or waited, which copies were in flight, what the tensor cores
// executed, the state of barriers and tensor memory. Times are ticks of the cluster's clock, one for each warp
// instruction of the cluster: they give an order and a measure of simulated work, not a time. Clusters of a launch
// begin together at its start; launches follow each other.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kiln::sim {

using Tick = std::uint64_t;
using TraceValue = std::variant<std::int64_t, std::string>;
using TraceArguments = std::vector<std::pair<std::string, TraceValue>>;

/// One CTA of one launch.
struct TraceProcess {
  std::uint32_t number = 0;
  std::string name{};
};

/// A row of slices. `number` also orders the tracks of a process.
struct TraceTrack {
  std::uint32_t process = 0;
  std::uint32_t number = 0;
  std::string name{};
};

/// Something that a track did from one tick up to another; slices of a track do not overlap.
struct TraceSlice {
  std::uint32_t process = 0, track = 0;
  Tick begin = 0, end = 0;
  std::string name{};
  TraceArguments arguments{};
};

/// Something in flight; spans may overlap. `id` is unique in the trace.
struct TraceSpan {
  std::uint32_t process = 0;
  std::uint64_t id = 0;
  Tick begin = 0, end = 0;
  const char* category = "";  // "tma", "cp.async", "wgmma", "async", "tensor memory"
  std::string name{};
  TraceArguments arguments{};
};

/// Values that change at a tick.
struct TraceCounter {
  std::uint32_t process = 0;
  Tick at = 0;
  std::string name{};
  std::vector<std::pair<const char*, std::int64_t>> values{};
};

/// A whole run.
struct Trace {
  std::vector<TraceProcess> processes{};
  std::vector<TraceTrack> tracks{};
  std::vector<TraceSlice> slices{};
  std::vector<TraceSpan> spans{};
  std::vector<TraceCounter> counters{};
};

}  // namespace kiln::sim
