// Rings of accumulators: the MMA role fills one block of tensor memory while the epilogue reads another. The ring knows
// whose turn it is and, in a pair, which CTA's barriers say so.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include <utility>

#include "dsl/ring.hpp"

namespace kiln::dsl {

/// One accumulator, held between acquire (or wait) and its commit or release. What it holds is a value.
struct AnyAccumulatorSlot {
  AnyTmem sums;       // as this CTA holds it
  Mbarrier full;      // completes when the MMAs committed to it have: in a pair, commit to all_ctas
  AnyMbarrier empty;  // the readers' arrivals go here: in a pair to the leader
};
/// The same of an MMA that is a type.
template <class Mma>
struct AccumulatorSlot {
  typename Mma::Accumulator sums;
  Mbarrier full;
  AnyMbarrier empty;
};

/// A ring of accumulators of one MMA. Copies share it.
class AnyAccumulatorRing {
 public:
  AnyAccumulatorRing(RingState& state, ElementType element, int columns, RingTurn turn = {})
      : state_(&state), element_(element), columns_(columns), turn_(turn) {}

  /// As AnyRing::turn.
  AnyAccumulatorRing turn(int first, int of) const { return {*state_, element_, columns_, {first, of}}; }

  /// The next accumulator to fill: waits until its readers have released it.
  [[nodiscard]] AnyAccumulatorSlot acquire(const Thread& t, Here at = {}) {
    SlotPlace place = next_slot(t, *state_, RingSide::producer, turn_, at);
    wait_until_empty(t, *state_, place, at);
    return slot(std::move(place));
  }
  /// The next accumulator to read: waits until it is full. The warps of a warpgroup keep their own pace: none waits for
  /// the others here or in release, so that one may read an accumulator while another is at the one before.
  [[nodiscard]] AnyAccumulatorSlot wait(Warpgroup& g, Here at = {}) {
    SlotPlace place = next_slot(g, *state_, RingSide::consumer, turn_, at);
    g.wait(place.full, Phase(place.phase), at);
    return slot(std::move(place));
  }
  /// The same in a role of one warp, which reaches the lanes of its quarter: w.quarter(slot.sums.address()).
  [[nodiscard]] AnyAccumulatorSlot wait(Warp& w, Here at = {}) {
    SlotPlace place = next_slot(w, *state_, RingSide::consumer, turn_, at);
    w.wait(place.full, Phase(place.phase), at);
    return slot(std::move(place));
  }
  /// The role has read it: it may be filled again after all its warps have arrived, in a pair those of both CTAs.
  void release(WholeWarps& g, const AnyMbarrier& empty, Here at = {}) { g.arrive_after_loads(empty, at); }

 private:
  AnyAccumulatorSlot slot(SlotPlace place) const {
    return {{{&place.tiles.recorder(), place.tiles.operand(), 0}, element_, columns_},
            std::move(place.full),
            std::move(place.leader_empty)};
  }

  RingState* state_;
  ElementType element_;
  int columns_;
  RingTurn turn_;
};

/// A ring of `stages` accumulators of an MMA that is a type. Copies share it.
template <int stages, class Mma>
class AccumulatorRing {
 public:
  static_assert(stages >= 1);
  explicit AccumulatorRing(const AnyAccumulatorRing& ring) : ring_(ring) {}

  /// As AnyAccumulatorRing::turn, acquire, wait and release.
  AccumulatorRing turn(int first, int of) const { return AccumulatorRing(ring_.turn(first, of)); }
  [[nodiscard]] AccumulatorSlot<Mma> acquire(const Thread& t, Here at = {}) { return typed(ring_.acquire(t, at)); }
  [[nodiscard]] AccumulatorSlot<Mma> wait(Warpgroup& g, Here at = {}) { return typed(ring_.wait(g, at)); }
  [[nodiscard]] AccumulatorSlot<Mma> wait(Warp& w, Here at = {}) { return typed(ring_.wait(w, at)); }
  void release(WholeWarps& g, const AccumulatorSlot<Mma>& from, Here at = {}) { ring_.release(g, from.empty, at); }
  // Here only to explain: another scope, another ring's accumulator, or another order.
  template <class S>
    requires(!is_one_thread<S>)
  KILN_REFUSED(scope, "one thread issues the MMAs that fill an accumulator: a role of warp<i>.elect() [dsl-scope]")
  AccumulatorSlot<Mma> acquire(const S& scope, Here at = {});
  template <class S>
    requires(!std::is_base_of_v<WholeWarps, S>)
  KILN_REFUSED(scope, "whole warps read an accumulator: a role of warpgroup<i>, or one of warp<i>, which reaches a quarter "
                      "of its lanes [dsl-scope]")
  AccumulatorSlot<Mma> wait(const S& scope, Here at = {});
  template <class S, class... Rest>
    requires(!std::is_base_of_v<WholeWarps, S> || sizeof...(Rest) != 1 ||
             !(... && std::is_same_v<Rest, AccumulatorSlot<Mma>>))
  KILN_REFUSED(arguments, "release(warpgroup, slot): the warpgroup that has read it, and the slot that this ring's "
                          "wait(warpgroup) gave [dsl-arguments]")
  void release(const S&, const Rest&...);
  KILN_OTHERWISE(arguments, "acquire(thread): the thread that issues the MMAs [dsl-arguments]")
  AccumulatorSlot<Mma> acquire(KILN_WHATEVER);
  KILN_OTHERWISE(arguments, "wait(warpgroup): the warpgroup, or the warp, that reads the accumulator [dsl-arguments]")
  AccumulatorSlot<Mma> wait(KILN_WHATEVER);

 private:
  static AccumulatorSlot<Mma> typed(AnyAccumulatorSlot s) {
    return {{std::move(s.sums)}, std::move(s.full), std::move(s.empty)};
  }

  AnyAccumulatorRing ring_;
};

}  // namespace kiln::dsl
