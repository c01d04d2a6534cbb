// What one warp does, as slices. Diverged lanes do different things at once, so a warp has one row for each group of
// lanes that ever diverged at the same time; a warp that never diverges has one row.
#pragma once

#include <map>

#include "sim/core/lanes.hpp"
#include "sim/views/trace.hpp"

namespace kiln::sim {

/// What some lanes do at a tick.
struct LaneState {
  Mask lanes = 0;
  std::string name{};
  std::string role{};
  bool waits = false;
};

class WarpTrack {
 public:
  /// Lanes do something at a tick that follows all others. What they did before ends; `slices` gets it.
  void step(const LaneState& state, Tick at, std::vector<TraceSlice>& slices);
  /// Lanes have exited.
  void leave(Mask lanes, Tick at, std::vector<TraceSlice>& slices);
  /// Everything ends.
  void close(Tick at, std::vector<TraceSlice>& slices);

  std::size_t rows() const { return rows_.size(); }
  /// The role that took most instructions, without the roles that every warp executes.
  std::string role() const;

 private:
  struct Row {
    LaneState state{};
    Tick begin = 0, end = 0;  // end: after the last instruction
    std::int64_t instructions = 0;
  };
  Row& row_of(Mask lanes, Tick at, std::vector<TraceSlice>& slices);
  void finish(Row& row, Tick at, std::vector<TraceSlice>& slices);

  std::vector<Row> rows_{};
  std::map<std::string, std::int64_t> instructions_{};  // by role
};

}  // namespace kiln::sim
