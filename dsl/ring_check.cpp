#include "dsl/ring_check.hpp"

#include <algorithm>

#include "ptx/rules/dsl.hpp"

namespace kiln::dsl {

namespace {

// Roles that take turns take every turn, one each; the others take every slot.
std::string mistake_in_turns(const RingUses& uses, const std::string& side, const std::string& ring) {
  std::set<int> firsts;
  const int of = uses.begin()->second.turn.of;
  const bool by_warp = uses.begin()->second.turn.by_warp, in_runs = uses.begin()->second.turn.in_runs;
  for (const auto& [role, use] : uses) {
    const RingTurn& turn = use.turn;
    if (turn.of != of || turn.by_warp != by_warp || turn.in_runs != in_runs || turn.first < 0 || turn.first >= of ||
        !firsts.insert(turn.first).second)
      return "the " + side + " of " + ring + " take turns that do not fit together: with " +
             std::to_string(uses.size()) + " roles, one is turn(0, " + std::to_string(uses.size()) +
             "), the next turn(1, ...)";
  }
  if (by_warp || int(firsts.size()) == of) return "";
  return "of the " + std::to_string(of) + " turns that " + ring + " gives its " + side + ", " +
         std::to_string(firsts.size()) + " are taken";
}

bool take_turns(const RingUses& uses) {
  return std::any_of(uses.begin(), uses.end(), [](const auto& use) { return use.second.takes_turns(); });
}

// A wait knows the parity of a phase alone, so a role must see each phase of a barrier, which it does of slots that
// nothing else of its side takes. That copies begin in order does not help, for they complete in any.
std::string mistake_in_stages(const RingState& ring, int of) {
  if (ring.stages % of == 0) return "";
  return ring.what() + " has " + std::to_string(ring.stages) + " slots, which " + std::to_string(of) +
         " turns do not divide: give it a multiple of " + std::to_string(of);
}

// Every part of a slot is filled by one role.
std::string mistake_in_parts(const RingState& ring) {
  std::vector<int> filled(ring.offsets.size());
  for (const auto& [role, use] : ring.producers)
    for (int part = 0; part < int(filled.size()); ++part)
      filled[std::size_t(part)] += std::count(use.parts.begin(), use.parts.end(), part) > 0;
  for (std::size_t part = 0; part < filled.size(); ++part) {
    const std::string which = "part " + std::to_string(part) + " of each slot of " + ring.what();
    if (filled[part] == 0) return "no role fills " + which;
    if (filled[part] > 1)
      return std::to_string(filled[part]) + " roles fill " + which +
             ": each names the tiles that it fills, acquire<Tile>(t), or they take turns, turn(0, " +
             std::to_string(ring.producers.size()) + ") and so on";
  }
  return "";
}

// What arrives in the leader, or from the peer, other roles do not see.
std::string mistake_in_pair(const RingState& ring, const std::set<const void*>& leaders) {
  const bool multiply_all = std::all_of(ring.consumers.begin(), ring.consumers.end(),
                                        [](const auto& use) { return use.second.turn.by_mmas; });
  if (ring.filled_by_peer() && ring.consumers.size() > 1 && !multiply_all)
    return "the slots of " + ring.what() +
           " have halves that the peer fills, so only the role that multiplies reads them";
  if (!ring.leader_full) return "";
  for (const auto& [role, use] : ring.consumers)
    if (!leaders.contains(role))
      return "a role of both CTAs of a pair reads " + ring.what() +
             ", whose slots are full in the leader: make it a role of leader_cta, or the ring a cta_ring";
  for (const auto& [role, use] : ring.producers)
    if (use.by_threads || use.takes_turns())
      return "the slots of " + ring.what() +
             " of a pair are filled by TMA, by the same role each time; a cta_ring's are not";
  return "";
}

// The roles that read the slots and keep them.
std::string keepers(const RingState& ring, const std::vector<std::pair<const void*, std::string>>& names) {
  std::string roles;
  int count = 0;
  for (const auto& [role, name] : names) {
    if (!ring.consumers.contains(role) || ring.releases.contains(role)) continue;
    roles += (count++ ? ", '" : "'") + name + "'";
  }
  return (count == 1 ? "role " : "roles ") + roles + (count == 1 ? " reads " : " read ") + ring.what() +
         (count == 1 ? " and gives" : " and give") + " no slot back: release(), or a commit to slot.empty";
}

std::string mistake(const RingState& ring, const std::set<const void*>& leaders) {
  const bool stores = ring.empty.text.empty();  // a store ring: one role writes, TMA reads
  if (stores && ring.producers.size() > 1)
    return std::to_string(ring.producers.size()) + " roles write " + ring.what() +
           ": each has a store ring of its own, or they are one role, warpgroups<0, 2>";
  if (stores) return "";
  for (const bool producers : {true, false}) {
    const RingUses& uses = producers ? ring.producers : ring.consumers;
    if (!take_turns(uses)) continue;
    if (std::string found = mistake_in_turns(uses, producers ? "producers" : "consumers", ring.what()); !found.empty())
      return found;
    if (uses.begin()->second.turn.in_runs) continue;
    if (std::string found = mistake_in_stages(ring, uses.begin()->second.turn.of); !found.empty()) return found;
  }
  if (!take_turns(ring.producers))
    if (std::string found = mistake_in_parts(ring); !found.empty()) return found;
  return mistake_in_pair(ring, leaders);
}

}  // namespace

void check_roles(Recorder& r, const RingState& ring, const std::set<const void*>& leaders,
                 const std::vector<std::pair<const void*, std::string>>& names) {
  const auto producers = int(ring.producers.size()), consumers = int(ring.consumers.size());
  const rules::Verdict sides = rules::ring_roles(producers, consumers);
  if (sides.broken())
    return r.require(sides, ring.made_at,
                     ring.what() + " has " + std::to_string(producers) + " producers and " + std::to_string(consumers) +
                         " consumers");
  const std::string found = mistake(ring, leaders);
  r.require(rules::ring_shares(found.empty()), ring.made_at, found);
  const auto released = int(ring.releases.size());
  r.require(rules::ring_release(released >= consumers), ring.made_at, keepers(ring, names));
}

}  // namespace kiln::dsl
