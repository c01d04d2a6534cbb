// The builder's rings: slots of shared memory, accumulators, answers of launch control; and the schedules of tiles.
#include <algorithm>

#include "dsl/builder.hpp"

namespace kiln::dsl {

// Rings ---------------------------------------------------------------------------------------------------------------

RingState& KernelBuilder::add_ring(const std::string& name, int stages, const std::vector<SlotPart>& parts, Here at,
                                   bool each_cta) {
  RingState& ring = storage_.add_ring(name, stages, 0, at);
  ring.each_cta = each_cta;
  tensor_core_->place_slots(storage_, ring, parts);
  return ring;
}

RingState& KernelBuilder::add_store_ring(const std::string& name, int stages, int slot_bytes, Here at) {
  RingState& ring = storage_.add_ring(name, stages, slot_bytes, at);
  ring.tiles = storage_.shared_bytes(stages * slot_bytes, ring.what(), at).operand();
  return ring;
}

// Schedules -----------------------------------------------------------------------------------------------------------

StaticTiles KernelBuilder::tiles(StaticSchedule schedule, const U32& rows, const U32& columns, Here at) {
  const U32 first = in_pairs() ? special("%clusterid.x") : ctaid.x,
            step = in_pairs() ? special("%nclusterid.x") : nctaid.x;
  const U32 count = apply("mul.lo", rows, columns, at), left = apply("sub", count, first, at);
  const U32 trips = apply("div", apply("sub", apply("add", left, step, at), 1, at), step, at);
  return {rows, columns, first, step, select(first < count, trips, 0), schedule.rows_together};
}

// Two answers: one is read while the next is on its way.
LaunchControlTiles KernelBuilder::tiles(LaunchControl schedule, const U32& rows, const U32& columns, Here at) {
  RingState& ring = storage_.add_answers("tiles", 2, answer_bytes, at);
  ring.tiles = special(answers_symbol).operand();
  storage_.add_barriers(ring);
  if (in_pairs()) ring.leader_empty = storage_.in_leader(ring.empty);
  return {tiles(StaticSchedule(schedule), rows, columns, at), &ring, in_pairs() ? 2 : 1};
}

// Arrivals ------------------------------------------------------------------------------------------------------------

std::set<const void*> KernelBuilder::leader_roles() const {
  std::set<const void*> out;
  for (const Role& role : roles_)
    if (role.leader_only) out.insert(&role.entry);
  return out;
}

// A slot is full when every role that fills it has arrived, and empty when every role that reads it has given it back;
// of roles that take turns one does. Of the answers, each role that reads them arrives once, in each CTA that it runs
// in.
void KernelBuilder::count_arrivals() {
  const std::set<const void*> leaders = leader_roles();
  const auto ctas = [&](const void* role) { return in_pairs() && !leaders.contains(role) ? 2 : 1; };
  const auto take_turns = [](const RingUses& uses) { return !uses.empty() && uses.begin()->second.takes_turns(); };
  for (const RingState& ring : storage_.rings()) {
    if (ring.empty.text.empty()) continue;
    int releases = 0;
    for (const auto& [role, arrivals] : ring.releases) {
      const int of_role = arrivals * (ring.leader_empty ? ctas(role) : 1);
      releases = take_turns(ring.consumers) ? std::max(releases, of_role) : releases + of_role;
    }
    storage_.barriers_of(ring, RingSide::producer).arrivals = releases;
    if (!take_turns(ring.producers))
      storage_.barriers_of(ring, RingSide::consumer).arrivals *= int(ring.producers.size());
  }
  for (const RingState& ring : storage_.answers()) {
    int readers = 0;
    for (const auto& [role, use] : ring.consumers) readers += ctas(role);
    storage_.barriers_of(ring, RingSide::producer).arrivals = readers;
  }
}

}  // namespace kiln::dsl
