// What a ring is apart from the types of its tiles: where its slots and barriers lie, and where each role stands in it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/tile.hpp"
#include "dsl/value.hpp"

namespace kiln::dsl {

/// Which side takes a slot. One role may be both sides, with a position on each.
enum class RingSide : unsigned char { producer, consumer };

/// What one side knows of where it stands in a ring. Registers that live as long as the role.
struct RingPosition {
  ir::Operand stage, phase;
};

/// A ring. Owned by the builder. In a pair of CTAs one ring runs through both: what has arrived counts on the leader's
/// full barriers, what has been read empties the slots of both.
struct RingState {
  std::string name;
  int stages = 0;
  int slot_bytes = 0;              // columns of tensor memory for a ring of accumulators
  std::vector<int> offsets{};      // bytes from a slot's start to each of its parts
  int transaction_bytes = 0;       // that this CTA's copies bring to a slot
  int peer_bytes = 0;              // that the peer's copies bring to it
  ir::Operand tiles, full, empty;  // registers: addresses of slot 0 and of the two barrier arrays
  int first = 0;                   // from `tiles` to slot 0
  // Of a pair: the leader's arrays as both CTAs reach them, and whether this CTA is the leader.
  std::optional<ir::Operand> leader_full{}, leader_empty{}, is_leader{};
  std::set<const void*> producers{}, consumers{};  // role keys; each consumer gives every slot back
  std::map<std::pair<const void*, RingSide>, RingPosition> positions{};
  bool released = false;
  bool drains = false;  // a role of the ring waits before it ends: for its copies, or for the peer's arrivals
  Here made_at{};

  /// What diagnostics call it.
  std::string what() const;

  /// Gives every slot one more part.
  void add(const SlotPart& part);
};

}  // namespace kiln::dsl
