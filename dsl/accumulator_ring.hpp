// Rings of accumulators: the MMA role fills one block of tensor memory while the epilogue reads another. Whose turn it
// is, and in a pair which CTA hears of it, is the ring's business.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include <string>
#include <utility>

#include "dsl/ring.hpp"

namespace kiln::dsl {

/// One accumulator, held between acquire (or wait) and its commit or release.
template <class Mma>
struct AccumulatorSlot {
  typename Mma::Accumulator sums;  // as this CTA holds it
  Mbarrier full;                   // completes when the MMAs committed to it have: in a pair, commit to all_ctas
  AnyMbarrier empty;               // the readers' arrivals go here: in a pair to the leader
};

/// A ring of `stages` accumulators. Copies share it.
template <int stages, class Mma>
class AccumulatorRing {
 public:
  static_assert(stages >= 1);
  explicit AccumulatorRing(RingState& state) : state_(&state) {}

  /// The next accumulator to fill: waits until its readers have released it.
  [[nodiscard]] AccumulatorSlot<Mma> acquire(Thread t, Here at = {}) {
    SlotPlace place = next_slot(t.recorder(), *state_, RingSide::producer, at);
    wait_until_empty(t, *state_, place, at);
    return slot(std::move(place));
  }
  /// The next accumulator to read: waits until it is full.
  [[nodiscard]] AccumulatorSlot<Mma> wait(Warpgroup& g, Here at = {}) {
    SlotPlace place = next_slot(g.recorder(), *state_, RingSide::consumer, at);
    g.wait(place.full, Phase(place.phase), at);
    return slot(std::move(place));
  }
  /// The warpgroup has read it: it may be filled again once all four warps, in a pair of both CTAs, have said so.
  void release(Warpgroup& g, const AccumulatorSlot<Mma>& from, Here at = {}) { g.arrive_by_warp(from.empty, at); }

 private:
  AccumulatorSlot<Mma> slot(SlotPlace place) const {
    return {{&place.tiles.recorder(), place.tiles.operand(), 0}, std::move(place.full), std::move(place.leader_empty)};
  }

  RingState* state_;
};

}  // namespace kiln::dsl
