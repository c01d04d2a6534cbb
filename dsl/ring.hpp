// Rings: shared-memory slots that one role fills and another empties. Stage index, phase bit, barrier addresses and
// transaction bytes are the ring's business; who acquires, waits and releases is the kernel's.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include <boost/hana/at.hpp>
#include <boost/hana/fold_left.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/integral_constant.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "dsl/warp.hpp"

namespace kiln::dsl {

/// Who takes a slot. One role may be both, each side with a position of its own.
enum class RingSide : unsigned char { producer, consumer };

/// What one side knows of where it stands in a ring. Registers that live as long as the role.
struct RingPosition {
  ir::Operand stage, phase;
};

/// The parts of a ring that do not depend on its tiles. Owned by the builder. In a pair of CTAs one ring runs through
/// both: what has arrived counts on the leader's full barriers, what has been read empties the slots of both.
struct RingState {
  std::string name;
  int stages = 0;
  int slot_bytes = 0;              // columns of tensor memory for a ring of accumulators
  ir::Operand tiles, full, empty;  // registers: addresses of slot 0 and of the two barrier arrays
  int first = 0;                   // from `tiles` to slot 0
  // Of a pair: the leader's arrays as both CTAs reach them, and whether this CTA is the leader.
  std::optional<ir::Operand> leader_full{}, leader_empty{}, is_leader{};
  int peer_bytes = 0;              // of a slot that the peer's copies bring
  std::set<const void*> producers{}, consumers{};  // role keys
  std::map<std::pair<const void*, RingSide>, RingPosition> positions{};
  bool released = false;
  bool drains = false;  // a role of the ring waits before it ends: for its copies, or for the peer's arrivals
  Here made_at{};
};

/// A slot's place, before its tiles have types: shared address of the slot, its barriers.
struct SlotPlace {
  U32 tiles;
  Mbarrier full, empty;
  AnyMbarrier leader_full, leader_empty;  // of a pair: the leader's; else this CTA's
  U32 stage;
  U32 phase;  // parity of the use before this one for a producer, of this one for a consumer
};

/// Takes the next slot of the calling role, which joins that side: copies stage and phase, then advances them.
SlotPlace next_slot(Recorder& r, RingState& ring, RingSide side, Here at);
/// How to wait on the ring's barriers: in a pair whose readers arrive in the leader, what they have seen in both CTAs
/// is ordered before what follows.
TryWaitExtras wait_order(const RingState& ring);
/// Waits, as the ring's producer, until the slot is empty.
void wait_until_empty(Thread t, const RingState& ring, const SlotPlace& place, Here at);
/// Takes the next slot to fill, waits until it is empty and announces its bytes: in a pair the leader does so for both
/// CTAs, and each stays until nothing arrives on its barriers any more.
SlotPlace slot_to_fill(Thread t, RingState& ring, int bytes, Here at);
/// Waits, as the ring's producer, until every slot is empty.
void drain_ring(Thread t, RingState& ring, Here at);

/// Tiles are placed at multiples of the longest swizzle period, so no descriptor needs a base offset.
inline constexpr int tile_placement = isa::period_bytes(isa::Swizzle::b128);
/// The bytes that something takes when what follows is placed so.
constexpr int placed_bytes(int bytes) { return (bytes + tile_placement - 1) / tile_placement * tile_placement; }

/// The tiles of a slot as a compile-time pack: bytes of all, and where each begins.
template <class... Tiles>
struct TilePack {
  static constexpr auto types = boost::hana::tuple_t<Tiles...>;
  static constexpr int slot_bytes =
      boost::hana::fold_left(types, 0, [](int sum, auto t) { return sum + placed_bytes(decltype(t)::type::bytes); });
  static constexpr int transaction_bytes =
      boost::hana::fold_left(types, 0, [](int sum, auto t) { return sum + decltype(t)::type::transaction_bytes; });
  /// Bytes of the other half of what CTAs share: of the last tile, or none.
  static constexpr int peer_bytes =
      boost::hana::fold_left(types, 0, [](int, auto t) { return other_half_bytes<typename decltype(t)::type>(); });
  static constexpr int peer_blocks =
      boost::hana::fold_left(types, 0, [](int, auto t) { return half_blocks<typename decltype(t)::type>(); });
  static_assert(peer_bytes == boost::hana::fold_left(types, 0, [](int sum, auto t) {
                  return sum + other_half_bytes<typename decltype(t)::type>();
                }), "behind a half of a tile the other half must have room: it is the last tile of a slot");

  template <int index>
  using tile = typename std::decay_t<decltype(boost::hana::at_c<index>(types))>::type;
  template <int index>
  static constexpr int offset() {
    int sum = 0, i = 0;
    boost::hana::for_each(types, [&](auto t) { sum += i++ < index ? placed_bytes(decltype(t)::type::bytes) : 0; });
    return sum;
  }
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

/// One slot, held between acquire (or wait) and its commit or arrive.
template <class... Tiles>
class Slot {
 public:
  using Pack = TilePack<Tiles...>;
  explicit Slot(SlotPlace place)
      : full(std::move(place.leader_full)),
        empty(std::move(place.empty)),
        stage(std::move(place.stage)),
        tiles_(std::move(place.tiles)) {}

  /// The slot's tile of this type; there must be exactly one.
  template <class Tile>
  Shared<Tile> get(Here at = {}) const {
    static_assert(Pack::template count<Tile> == 1, "the slot has no such tile, or several: use get<index>()");
    return get<Pack::template index_of<Tile>()>(at);
  }
  template <int index>
  auto get(Here at = {}) const -> Shared<typename Pack::template tile<index>> {
    return {apply("add", tiles_, Pack::template offset<index>(), at)};
  }

  AnyMbarrier full;  // completes when the slot's bytes have arrived; in a pair the leader's, for both CTAs
  Mbarrier empty;    // completes when the slot may be filled again
  U32 stage;         // which slot of the ring it is

 private:
  U32 tiles_;
};

/// A ring of `stages` slots. Copies share it.
template <int stages, class... Tiles>
class Ring {
 public:
  static_assert(stages >= 1);
  using Pack = TilePack<Tiles...>;
  explicit Ring(RingState& state) : state_(&state) {}

  /// The next slot to fill: waits until it is empty and announces its bytes on `full`.
  [[nodiscard]] Slot<Tiles...> acquire(Thread t, Here at = {}) {
    rules::require<rules::mbarrier_tx(Pack::transaction_bytes)>();
    return Slot<Tiles...>(slot_to_fill(t, *state_, Pack::transaction_bytes, at));
  }
  /// Waits until every slot is empty: what was filled has been read.
  void drain(Thread t, Here at = {}) { drain_ring(t, *state_, at); }
  /// The next slot to read: waits until it is full.
  template <class S>
  [[nodiscard]] Slot<Tiles...> wait(S& scope, Here at = {}) {
    SlotPlace place = next_slot(scope.recorder(), *state_, RingSide::consumer, at);
    scope.wait(place.full, Phase(place.phase), at);
    return Slot<Tiles...>(std::move(place));
  }

 private:
  RingState* state_;
};

/// Tiles on their way out: acquire one, store to it, publish it to a box of a global tensor.
template <int stages, class Tile>
class StoreRing {
 public:
  explicit StoreRing(RingState& state) : state_(&state) {}

  /// The next tile to write: waits until the copy that last read it has done so.
  [[nodiscard]] Shared<Tile> acquire(Warpgroup& g, Here at = {}) {
    state_->consumers.insert(g.recorder().role_key());
    state_->released = true;
    SlotPlace place = next_slot(g.recorder(), *state_, RingSide::producer, at);
    g.elect([&](Thread t) { t.wait_stores_read(stages - 1, at); }, at);
    g.sync(at);
    return {place.tiles};
  }
  /// Sends the tile: all threads' writes become visible to TMA, then one thread copies.
  void publish(Warpgroup& g, const Shared<Tile>& from, const Box<Tile>& to, Here at = {}) {
    g.fence_proxy_async(at);
    g.sync(at);
    g.elect([&](Thread t) {
      t.tma_store(to, from, at);
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
