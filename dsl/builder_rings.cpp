// The builder's rings: slots of shared memory, accumulators, answers of launch control; and the schedules of tiles.
#include <algorithm>

#include "dsl/builder.hpp"

namespace kiln::dsl {

// Rings ---------------------------------------------------------------------------------------------------------------

RingState& KernelBuilder::add_ring(const std::string& name, int stages, const std::vector<SlotPart>& parts, Here at) {
  RingState& ring = storage_.add_ring(name, stages, 0, at);
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
  storage_.add_barriers(ring, 1);  // count_readers() corrects it
  if (in_pairs()) ring.leader_empty = storage_.in_leader(ring.empty);
  return {tiles(StaticSchedule(schedule), rows, columns, at), &ring, in_pairs() ? 2 : 1};
}

// A slot is empty when every role that reads the ring has given it back, and each does so as one role alone would. Of
// the answers, each role that reads them arrives once, in each CTA that it runs in.
void KernelBuilder::count_readers() {
  for (const RingState& ring : storage_.rings())
    if (ring.consumers.size() > 1 && !ring.empty.text.empty())
      storage_.barriers_of(ring, RingSide::producer).arrivals *= int(ring.consumers.size());
  for (const RingState& ring : storage_.answers()) {
    int readers = 0;
    for (const Role& role : roles_)
      if (ring.consumers.count(&role.entry)) readers += in_pairs() && !role.leader_only ? 2 : 1;
    storage_.barriers_of(ring, RingSide::producer).arrivals = readers;
  }
}

}  // namespace kiln::dsl
