#include "sim/views/warp_track.hpp"

#include <algorithm>

namespace kiln::sim {

void WarpTrack::finish(Row& row, Tick at, std::vector<TraceSlice>& slices) {
  if (!row.state.lanes) return;
  const Tick end = row.state.waits ? at : row.end;
  if (end > row.begin) {
    TraceSlice s;
    s.track = std::uint32_t(&row - rows_.data());
    s.begin = row.begin;
    s.end = end;
    s.name = row.state.name;
    s.arguments = {{"lanes", std::int64_t(row.state.lanes)}};
    if (!row.state.role.empty()) s.arguments.push_back({"role", row.state.role});
    if (!row.state.waits) s.arguments.push_back({"instructions", row.instructions});
    slices.push_back(std::move(s));
  }
  row.state.lanes = 0;
}

// The first row whose lanes these were; else a free one. Rows of others that have met them end.
WarpTrack::Row& WarpTrack::row_of(Mask lanes, Tick at, std::vector<TraceSlice>& slices) {
  Row* found = nullptr;
  for (Row& r : rows_) {
    if (!(r.state.lanes & lanes)) continue;
    if (!found)
      found = &r;
    else
      finish(r, at, slices);
  }
  if (found) return *found;
  const auto idle = std::find_if(rows_.begin(), rows_.end(), [](const Row& r) { return r.state.lanes == 0; });
  if (idle != rows_.end()) return *idle;
  return rows_.emplace_back();
}

void WarpTrack::step(const LaneState& state, Tick at, std::vector<TraceSlice>& slices) {
  Row& row = row_of(state.lanes, at, slices);
  const bool goes_on = (row.state.lanes & ~state.lanes) == 0 && row.state.lanes && row.state.waits == state.waits &&
                       row.state.name == state.name && row.state.role == state.role;
  if (goes_on) {
    row.state.lanes = state.lanes;
  } else {
    finish(row, at, slices);
    row = {state, at, at, 0};
  }
  if (state.waits) return;
  row.end = at + 1;
  ++row.instructions;
  ++instructions_[state.role];
}

void WarpTrack::leave(Mask lanes, Tick at, std::vector<TraceSlice>& slices) {
  for (Row& r : rows_)
    if ((r.state.lanes & ~lanes) == 0) finish(r, at, slices);
}

void WarpTrack::close(Tick at, std::vector<TraceSlice>& slices) { leave(all_lanes, at, slices); }

std::string WarpTrack::role() const {
  std::string best;
  std::int64_t most = 4;  // passing a role's guard
  for (const auto& [role, n] : instructions_)
    if (!role.empty() && role != "setup" && role != "cleanup" && n > most) best = role, most = n;
  return best;
}

}  // namespace kiln::sim
