// What a ring is apart from the types of its tiles: where its slots and barriers lie, and where each role stands in it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/mbarrier.hpp"
#include "dsl/tile.hpp"
#include "dsl/value.hpp"

namespace kiln::dsl {

/// Which side takes a slot. One role may be both sides, with a position on each.
enum class RingSide : unsigned char { producer, consumer };

/// Which slots a role takes: all, or of so many roles that take turns every slot whose number leaves the rest `first`.
struct RingTurn {
  int first = 0, of = 1;
  bool by_warp = false;  // each warp of the role takes a turn of its own
  bool in_runs = false;  // a turn is as many slots in a row as the kernel says
  bool by_mmas = false;  // the role multiplies, and gives slots back in both CTAs of a pair
  bool takes_all() const { return of == 1 && !by_warp; }
};

/// A role of a ring: its turn and, where it fills slots, the parts that it fills in some of them or in all.
struct RingUse {
  RingTurn turn{};
  std::vector<int> parts{};
  bool by_threads = false;  // it fills slots by stores

  bool takes_turns() const { return !turn.takes_all(); }
};
/// The roles of one side, by their keys.
using RingUses = std::map<const void*, RingUse>;

/// What one side knows of where it stands in a ring. Registers that live as long as the role.
struct RingPosition {
  ir::Operand stage, phase;
};

/// A ring. Owned by the builder. In a pair of CTAs one ring runs through both: what has arrived counts on the leader's
/// full barriers, what has been read empties the slots of both.
struct RingState {
  std::string name;
  int stages = 0;
  int slot_bytes = 0;          // columns of tensor memory for a ring of accumulators
  std::vector<int> offsets{};  // bytes from a slot's start to each of its parts
  // What this CTA's copies, and the peer's, bring to each part of a slot.
  std::vector<int> transaction_bytes{}, peer_bytes{};
  ir::Operand tiles, full, empty;  // registers: addresses of slot 0 and of the two barrier arrays
  int first = 0;                   // from `tiles` to slot 0
  // Of a pair: the leader's arrays as both CTAs reach them, and whether this CTA is the leader.
  std::optional<ir::Operand> leader_full{}, leader_empty{}, is_leader{};
  bool each_cta = false;  // of a pair: a ring of its own
  RingUses producers{}, consumers{};
  SlotReleases releases{};
  std::map<std::pair<const void*, RingSide>, RingPosition> positions{};
  bool drains = false;  // a role of the ring waits before it ends: for its copies, or for the peer's arrivals
  Here made_at{};

  /// What diagnostics call it.
  std::string what() const;

  /// Gives every slot one more part.
  void add(const SlotPart& part);
  /// Whether the peer's copies bring something to each slot.
  bool filled_by_peer() const;
};

}  // namespace kiln::dsl
