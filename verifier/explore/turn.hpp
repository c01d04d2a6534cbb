// One operation, as the threads that stand at it execute it.
#pragma once

#include <string>

#include "verifier/explore/state.hpp"
#include "verifier/work_clock.hpp"

namespace kiln::verifier::explore {

/// Thrown where a run cannot be followed.
struct Unfollowed {
  std::string what{};
  const ir::Operation* operation = nullptr;
  bool may_be_nothing = false;  // as in Stop
  /// The ways of this branch must be followed apart: what is found depends on it.
  std::uint32_t decider = no_branch;
};

/// What is not known where an address names a CTA that the cluster does not have: how many it has, unless that is said.
inline constexpr const char* beyond_cluster = "an address of a CTA outside the cluster";

/// When exploring must have come to its end, in time of its thread.
using Deadline = WorkClock::time_point;
inline constexpr Deadline no_deadline = Deadline::max();

/// Counts steps: executed operations, and other work that grows with a kernel; and looks at the clock.
class Budget {
 public:
  Budget(bool has_launch, Deadline deadline) : has_launch_(has_launch), deadline_(deadline) {}

  void begin() { steps_ = 0; }
  void begin_run() { run_from_ = steps_; }
  void spend(std::uint64_t steps) { steps_ += steps; }
  std::uint64_t steps() const { return steps_; }
  /// Counts an operation as a step. Throws when that is more than a run may take.
  void step(const ir::Operation& op, bool has_rounds) {
    constexpr std::uint64_t most = 200'000, most_of_nested_loops = 10'000'000, most_of_a_launch = 2'000'000;
    constexpr std::uint64_t most_of_a_run = 100'000;  // from choice to choice, where there is no launch
    const std::uint64_t limit = has_launch_ ? most_of_a_launch : has_rounds ? most_of_nested_loops : most;
    if (++steps_ > limit) throw Unfollowed{"too many ways to go", &op};
    if (steps_ % steps_a_look == 0 && is_over()) throw Unfollowed{out_of_time, &op};
    if (steps_ - run_from_ > most_of_a_run && !has_launch_) throw Unfollowed{"where a loop ends", &op};
  }
  bool is_over() const { return deadline_ != no_deadline && WorkClock::now() > deadline_; }
  static constexpr const char* out_of_time = "too many ways to go in the time given (--budget)";

 private:
  static constexpr std::uint64_t steps_a_look = 8;
  bool has_launch_;
  Deadline deadline_;
  std::uint64_t steps_ = 0, run_from_ = 0;
};

/// What became of an operation: the threads go on after it, wait at it, or stand elsewhere.
enum class Status : std::uint8_t { next, blocked, jumped };

struct Turn {
  State& s;
  Cta& cta;
  Warp& warp;
  Fragment& f;
  const ir::Operation& op;
  std::uint32_t cta_index = 0, warp_index = 0, at = 0;
  Mask lanes = 0;
  bool compares = false;                  // its result is compared
  const LaneTerms* predicates = nullptr;  // of the lanes, where it is not decided which of them execute
  std::optional<flow::TermId> found{};    // what a strong load finds in a flag

  int leader() const { return std::countr_zero(lanes); }
  bool knows(EventId e) const { return warp.all_have(lanes, &Clock::seen, e); }
  bool comes_after(EventId e) const { return warp.all_have(lanes, &Clock::past, e); }
  EventId add_event() const { return s.add({&op, cta_index, warp_index, lanes}); }
  EventId add_access(bool writes, Proxy proxy, bool is_async) const {
    return s.add({&op, cta_index, warp_index, lanes, proxy, is_async, writes, predicates != nullptr});
  }
  /// Whether the lanes of a mask that have not exited stand here together. If not, the threads wait for them.
  bool converge(Mask needed) const {
    Mask live = 0;
    for (const Fragment& other : warp.fragments) live |= other.lanes;
    if ((needed & live & ~f.lanes) == 0) return true;
    f.wait = {Wait::Kind::lanes};
    return false;
  }
};

}  // namespace kiln::verifier::explore
