// Rings: shared-memory slots that one role fills and another empties. Stage index, phase bit, barrier addresses and
// transaction bytes are the ring's business; which role acquires, waits and releases is the kernel's.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include <boost/hana/at.hpp>
#include <boost/hana/fold_left.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/integral_constant.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>
#include <utility>
#include <vector>

#include "dsl/ring_state.hpp"
#include "dsl/warp.hpp"

namespace kiln::dsl {

/// A slot's place, before its tiles have types: shared address of the slot, its barriers.
struct SlotPlace {
  U32 tiles;
  Mbarrier full, empty;
  AnyMbarrier leader_full, leader_empty;  // of a pair: the leader's; else this CTA's
  U32 stage;
  U32 phase;  // parity of the use before this one for a producer, of this one for a consumer
};

/// Takes the next slot of the calling role, which joins that side: copies stage and phase, then advances them.
SlotPlace next_slot(const Issuer& scope, RingState& ring, RingSide side, const RingTurn& turn, Here at);
/// How to wait on the ring's barriers: in a pair whose readers arrive in the leader, what they have seen in both CTAs
/// is ordered before what follows.
TryWaitExtras wait_order(const RingState& ring);
/// Waits, as the ring's producer, until the slot is empty.
void wait_until_empty(Mbarriers scope, const RingState& ring, const SlotPlace& place, Here at);
/// Takes the next slot to fill, waits until it is empty and announces the bytes of these parts (none: of all): in a
/// pair the leader does so for both CTAs, and each stays until nothing arrives on its barriers any more.
SlotPlace slot_to_fill(Thread t, RingState& ring, const RingTurn& turn, const std::vector<int>& parts, Here at);
/// The same for threads that store to the slot, which announce nothing.
SlotPlace slot_to_store(Warpgroup& g, RingState& ring, const RingTurn& turn, const std::vector<int>& parts, Here at);
/// What these threads have stored is visible to TMA and the tensor core, then one arrival says so for all.
void publish_slot(Warpgroup& g, const AnyMbarrier& full, Here at);
/// Gives a slot back that these threads have read, so that a copy may fill it again: each of them makes its reads
/// ordered before what the copy writes, then one arrival says so for all. Warps of one role arrive by themselves.
void release_slot(Warpgroup& g, const Mbarrier& empty, const RingTurn& turn, Here at);
void release_slot(const Warp& w, const Mbarrier& empty, const RingTurn& turn, Here at);
void release_slot(const Thread& t, const Mbarrier& empty, const RingTurn& turn, Here at);
/// The role's next slots are those after `slots` others.
void skip_slots(const Issuer& scope, RingState& ring, RingSide side, const RingTurn& turn, const U32& slots, Here at);
/// Waits, as the ring's producer, until every slot is empty.
void drain_ring(Thread t, RingState& ring, Here at);

/// One slot, held between acquire (or wait) and its commit or arrive. What it holds is a value.
class AnySlot {
 public:
  AnySlot(SlotPlace place, const RingState& ring)
      : full(std::move(place.leader_full)),
        empty(std::move(place.empty)),
        stage(std::move(place.stage)),
        tiles_(std::move(place.tiles)),
        ring_(&ring) {}

  AnyMbarrier full;  // completes when the slot's bytes have arrived; in a pair the leader's, for both CTAs
  Mbarrier empty;    // completes when the slot may be filled again
  U32 stage;         // which slot of the ring it is

  /// The address of the part with that number.
  U32 part(int index, Here at = {}) const { return apply("add", tiles_, ring_->offsets[std::size_t(index)], at); }
  /// The same where the part is a tile of that shape.
  AnyShared tile(int index, const TileShape& shape, Here at = {}) const { return {part(index, at), shape}; }

 private:
  U32 tiles_;
  const RingState* ring_;
};

/// A ring of slots; what they hold is a value. Copies share it.
class AnyRing {
 public:
  explicit AnyRing(RingState& state, RingTurn turn = {}) : state_(&state), turn_(turn) {}

  /// The same ring for one of `of` roles of a side that take turns: this one takes slots `first`, `first + of`, ...
  /// The ring has a multiple of `of` slots, so that each role keeps its own.
  AnyRing turn(int first, int of) const { return AnyRing(*state_, {first, of}); }
  /// The same where the warps of a role take turns, inside of Warpgroup::each_warp.
  AnyRing by_warp() const { return AnyRing(*state_, {0, 1, true}); }
  /// The same for a role whose warpgroup multiplies by RegisterSums, which gives slots back.
  AnyRing by_mmas() const { return AnyRing(*state_, {0, 1, false, false, true}); }
  /// The same for one of `of` such roles that take turns, each with a run of slots in a row, and skip those of the
  /// others. A wait knows a slot's parity alone: a role waits for the first slot of its run after the role before it has
  /// waited for the last one of its own, which the kernel ensures by an mbarrier.
  AnyRing in_runs(int first, int of) const { return AnyRing(*state_, {first, of, false, true, true}); }
  /// The next slots to read are those after `slots` others: of a role that takes runs.
  void skip(const Issuer& scope, const U32& slots, Here at = {}) {
    skip_slots(scope, *state_, RingSide::consumer, turn_, slots, at);
  }

  /// The next slot to fill: waits until it is empty and announces its bytes on `full`; where several roles fill each
  /// slot, or this one needs but some parts of it, those of `parts`.
  [[nodiscard]] AnySlot acquire(const Thread& t, const std::vector<int>& parts = {}, Here at = {}) {
    return {slot_to_fill(t, *state_, turn_, parts, at), *state_};
  }
  /// The next slot for these threads to store to, and that it is full.
  [[nodiscard]] AnySlot acquire(Warpgroup& g, const std::vector<int>& parts = {}, Here at = {}) {
    return {slot_to_store(g, *state_, turn_, parts, at), *state_};
  }
  void publish(Warpgroup& g, const AnySlot& slot, Here at = {}) { publish_slot(g, slot.full, at); }
  /// Waits until every slot is empty: what was filled has been read.
  void drain(const Thread& t, Here at = {}) { drain_ring(t, *state_, at); }
  /// The next slot to read: waits until it is full.
  template <class S>
  [[nodiscard]] AnySlot wait(S& scope, Here at = {}) {
    SlotPlace place = next_slot(scope, *state_, RingSide::consumer, turn_, at);
    scope.wait(place.full, Phase(place.phase), at);
    return {std::move(place), *state_};
  }
  /// The scope's threads have read the slot, by loads: it may be filled again when every role that reads the ring has
  /// said so. MMAs give a slot back by commit(slot.empty).
  template <class S>
  void release(S& scope, const AnySlot& slot, Here at = {}) {
    release_slot(scope, slot.empty, turn_, at);
  }

 private:
  RingState* state_;
  RingTurn turn_;
};

/// The tiles of a slot as a compile-time pack.
template <class... Tiles>
struct TilePack {
  static constexpr auto types = boost::hana::tuple_t<Tiles...>;
  static std::vector<SlotPart> parts() { return {Tiles::part...}; }
  static constexpr int transaction_bytes =
      boost::hana::fold_left(types, 0, [](int sum, auto t) { return sum + decltype(t)::type::transaction_bytes; });

  template <int index>
  using tile = typename std::decay_t<decltype(boost::hana::at_c<index>(types))>::type;
  template <class Tile>
  static constexpr int count = boost::hana::fold_left(
      types, 0, [](int n, auto t) { return n + int(std::is_same_v<typename decltype(t)::type, Tile>); });
  template <class Tile>
  static constexpr int index_of() {
    int found = -1, i = 0;
    boost::hana::for_each(types, [&](auto t) {
      if (found < 0 && std::is_same_v<typename decltype(t)::type, Tile>) found = i;
      ++i;
    });
    return found;
  }
};

/// One slot whose tiles are types.
template <class... Tiles>
class Slot : public AnySlot {
 public:
  using Pack = TilePack<Tiles...>;
  explicit Slot(AnySlot slot) : AnySlot(std::move(slot)) {}

  /// The slot's tile of this type; there must be exactly one.
  template <class Tile>
    requires(Pack::template count<Tile> == 1)
  Shared<Tile> get(Here at = {}) const {
    return {part(Pack::template index_of<Tile>(), at)};
  }
  template <int index>
    requires(index >= 0 && index < int(sizeof...(Tiles)))
  auto get(Here at = {}) const {
    return Shared<typename Pack::template tile<index>>{part(index, at)};
  }
  // Here only to explain. `Of`, here and below, is what the messages of both compilers then show beside the mistake.
  template <class Tile, class Of = Slot>
    requires(Pack::template count<Tile> != 1)
  KILN_REFUSED(tile_type, "get<Tile>() is the slot's only tile of that type; of several get<index>() names one "
                          "[dsl-tile-type]")
  Shared<Tile> get(Here at = {}) const;
  template <int index, class Of = Slot>
    requires(index < 0 || index >= int(sizeof...(Tiles)))
  KILN_REFUSED(tile_type, "get<index>() is one of the slot's tiles, of which the first is 0 [dsl-tile-type]")
  AnyShared get(Here at = {}) const;
};

template <class S>
inline constexpr bool is_one_thread = std::is_base_of_v<Thread, S>;
template <class S>
inline constexpr bool is_scope = std::is_base_of_v<Scope, S>;

/// A ring of `stages` slots whose tiles are types. Copies share it.
template <int stages, class... Tiles>
class Ring {
 public:
  static_assert(stages >= 1);
  explicit Ring(RingState& state) : ring_(state) {}

  /// As AnyRing::turn and by_warp.
  Ring turn(int first, int of) const { return Ring(ring_.turn(first, of)); }
  Ring by_warp() const { return Ring(ring_.by_warp()); }

  /// Whether slots hold all of these tiles.
  template <class... Filled>
  static constexpr bool are_parts = (... && (TilePack<Tiles...>::template count<Filled> > 0));

  /// As AnyRing::acquire, publish, drain and wait. Where several roles fill each slot, each names the tiles that it
  /// fills: `in.acquire<ATile>(t)`.
  template <class... Filled>
    requires(are_parts<Filled...>)
  [[nodiscard]] Slot<Tiles...> acquire(const Thread& t, Here at = {}) {
    rules::require<rules::mbarrier_tx(TilePack<Tiles...>::transaction_bytes)>();
    return Slot<Tiles...>(ring_.acquire(t, parts_of<Filled...>(), at));
  }
  template <class... Filled>
    requires(are_parts<Filled...>)
  [[nodiscard]] Slot<Tiles...> acquire(Warpgroup& g, Here at = {}) {
    return Slot<Tiles...>(ring_.acquire(g, parts_of<Filled...>(), at));
  }
  void publish(Warpgroup& g, const Slot<Tiles...>& slot, Here at = {}) { ring_.publish(g, slot, at); }
  void drain(const Thread& t, Here at = {}) { ring_.drain(t, at); }
  template <class S>
    requires(is_scope<S>)
  [[nodiscard]] Slot<Tiles...> wait(S& scope, Here at = {}) {
    return Slot<Tiles...>(ring_.wait(scope, at));
  }
  /// As AnyRing::release.
  template <class S>
  void release(S& scope, const Slot<Tiles...>& slot, Here at = {}) {
    ring_.release(scope, slot, at);
  }
  // Here only to explain: another scope, another ring's slot, or another order.
  template <class S>
    requires(!is_one_thread<S> && !std::is_base_of_v<Warpgroup, S>)
  KILN_REFUSED(scope, "one thread fills a ring: a role of warp<i>.elect(), or inside elect([&](Thread t) { ... }) "
                      "[dsl-scope]")
  Slot<Tiles...> acquire(const S& scope, Here at = {});
  template <class... Filled, class Of = Slot<Tiles...>>
    requires(!are_parts<Filled...>)
  KILN_REFUSED(tile_type, "acquire<Tile>(scope) names a tile of this ring's slots [dsl-tile-type]")
  Slot<Tiles...> acquire(KILN_WHATEVER);
  KILN_OTHERWISE(arguments, "acquire(scope): the thread or warpgroup that fills the slot; where several roles fill it, "
                            "acquire<Tile>(scope) [dsl-arguments]")
  Slot<Tiles...> acquire(KILN_WHATEVER);
  template <class S, class... Rest>
    requires(!is_scope<S> || sizeof...(Rest) != 1 || !(... && std::is_same_v<Rest, Slot<Tiles...>>))
  KILN_REFUSED(arguments, "release(scope, slot): the scope that has read it, and the slot that this ring's wait(scope) "
                          "gave [dsl-arguments]")
  void release(const S&, const Rest&...);
  KILN_OTHERWISE(arguments, "wait(scope): the scope that reads the slot [dsl-arguments]")
  Slot<Tiles...> wait(KILN_WHATEVER);
  KILN_OTHERWISE(arguments, "publish(warpgroup, slot): the warpgroup that has stored to it, and the slot that this "
                            "ring's "
                            "acquire(warpgroup) gave [dsl-arguments]")
  void publish(KILN_WHATEVER);
  KILN_OTHERWISE(scope, "drain(thread): the thread that fills the ring, inside elect([&](Thread t) { ... }) or in a "
                        "role of "
                        "warp<i>.elect() [dsl-scope]")
  void drain(KILN_WHATEVER);

 private:
  explicit Ring(AnyRing ring) : ring_(std::move(ring)) {}
  template <class Tile>
  static int part_of() {
    using Pack = TilePack<Tiles...>;
    static_assert(Pack::template count<Tile> <= 1, "the slot has several such tiles: one role fills them all");
    return Pack::template index_of<Tile>();
  }
  template <class... Filled>
  static std::vector<int> parts_of() {
    return {part_of<Filled>()...};
  }
  AnyRing ring_;
};

template <class... Rest>
inline constexpr bool is_published = false;
template <class From, class To>
inline constexpr bool is_published<Shared<From>, Box<To>> = true;

/// Tiles on their way out: acquire one, store to it, publish it to a box of a global tensor.
template <int stages, class Tile>
class StoreRing {
 public:
  explicit StoreRing(RingState& state) : state_(&state) {}

  /// The next tile to write: waits until the copy that last read it has done so.
  [[nodiscard]] Shared<Tile> acquire(Warpgroup& g, Here at = {}) {
    const void* const role = g.recorder().role_key();
    state_->consumers[role], state_->releases[role] = 1;
    SlotPlace place = next_slot(g, *state_, RingSide::producer, {}, at);
    g.elect([&](Thread t) { t.wait_stores_read(stages - 1, at); }, at);
    g.sync(at);
    return {place.tiles};
  }
  // Here only to explain: another tile or box than the ring's, another scope, or another order.
  template <class From, class To, class Of = Tile>
    requires(!std::is_same_v<From, Tile> || !std::is_same_v<To, Tile>)
  KILN_REFUSED(tile_type, "the tile or the box is another than this ring's [dsl-tile-type]")
  void publish(Warpgroup&, const Shared<From>&, const Box<To>&, Here = {});
  template <class S, class... Rest>
    requires(!std::is_base_of_v<Warpgroup, S> || sizeof...(Rest) != 2 || !is_published<Rest...>)
  KILN_REFUSED(arguments, "publish(warpgroup, tile, box): the tile that acquire(warpgroup) gave, the box of a map, "
                          "map.at(row, column) [dsl-arguments]")
  void publish(const S&, const Rest&...);
  template <class S>
    requires(!std::is_base_of_v<Warpgroup, S>)
  KILN_REFUSED(scope, "a warpgroup writes the tiles of a store ring: a role of warpgroup<i> [dsl-scope]")
  Shared<Tile> acquire(const S& scope, Here at = {});
  KILN_OTHERWISE(arguments, "acquire(warpgroup): the warpgroup that writes the tile [dsl-arguments]")
  Shared<Tile> acquire(KILN_WHATEVER);
  /// Sends the tile: all threads' writes become visible to TMA, then one thread copies.
  void publish(Warpgroup& g, const Shared<Tile>& from, const Box<Tile>& to, Here at = {}) {
    own_proxy_fence(g.recorder(), at);
    g.sync(at);
    g.elect([&](Thread t) {
      t.tma_store(to, from, {}, at);
      t.commit_stores(at);
    }, at);
    drain_at_exit(g, at);
  }

 private:
  // Shared memory must outlive the copies that read it: the role ends when none is left.
  void drain_at_exit(Warpgroup& g, Here at) {
    if (std::exchange(state_->drains, true)) return;
    g.role().at_exit.push_back([g, at]() mutable { g.elect([&](Thread t) { t.wait_stores_read(0, at); }, at); });
  }
  RingState* state_;
};

}  // namespace kiln::dsl
