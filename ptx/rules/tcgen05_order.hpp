// The order around tcgen05.mma: who issues it, and what lies between it and the readers of its accumulator.
#pragma once

#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// `lanes`: threads of one warp that issue the same tcgen05.mma, for sure.
constexpr Verdict mma_issuer(int lanes) { return lanes <= 1 ? legal : breaks(Rule::mma_issuer, lanes, 1); }

/// How far an accumulator is on its way to its readers. Without an MMA in flight it is `settled`.
enum class MmaState : std::uint8_t { settled, issued, committed };
enum class MmaEvent : std::uint8_t { mma, commit, wait, read };

struct MmaStep {
  MmaState next;
  Verdict verdict;
};

/// A wait without a commit in front of it waits for something else.
constexpr MmaStep step(MmaState s, MmaEvent e) {
  switch (e) {
    case MmaEvent::mma: return {MmaState::issued, legal};
    case MmaEvent::commit: return {s == MmaState::issued ? MmaState::committed : s, legal};
    case MmaEvent::wait: return {s == MmaState::committed ? MmaState::settled : s, legal};
    case MmaEvent::read: return {s, s == MmaState::settled ? legal : breaks(Rule::mma_wait, int(s))};
  }
  return {s, legal};
}

/// What a thread knows of the MMAs that others issued: after a wait, nothing before tcgen05.fence::after_thread_sync.
enum class FenceState : std::uint8_t { ordered, waited };
enum class FenceEvent : std::uint8_t { wait, fence, read };

struct FenceStep {
  FenceState next;
  Verdict verdict;
};

constexpr FenceStep step(FenceState s, FenceEvent e) {
  if (e == FenceEvent::read) return {s, s == FenceState::ordered ? legal : breaks(Rule::fence_after)};
  return {e == FenceEvent::wait ? FenceState::waited : FenceState::ordered, legal};
}

}  // namespace kiln::rules
