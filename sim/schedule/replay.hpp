// A schedule that follows a recording.
#pragma once

#include "sim/schedule/recording.hpp"
#include "sim/schedule/schedule.hpp"

namespace kiln::sim::schedule {

/// Follows a recording. After its end, and in clusters that it does not name, no fragment is interrupted: one fragment
/// runs until it must wait, then the next one. An asynchronous operation happens when no fragment can go on.
class Replay final : public Schedule {
 public:
  /// `exactly`: a decision that does not fit is an InputError; `loosely`: it is left out or cut short.
  enum class How : std::uint8_t { exactly, loosely };

  Replay(const Recording& recording, How how) : recording_(recording), how_(how) {}

  Outcome run(Cluster&, const ir::Operation*& current) override;
  /// The decisions that were followed; following them exactly gives the same run.
  const Recording& followed() const { return followed_; }

 private:
  bool follow(Cluster&, Decision, const ir::Operation*& current);
  std::uint64_t follow_turn(Cluster&, const Decision&, const ir::Operation*& current);
  Outcome go_on(Cluster&, const ir::Operation*& current);

  const Recording& recording_;
  How how_;
  Recording followed_{};
};

}  // namespace kiln::sim::schedule
