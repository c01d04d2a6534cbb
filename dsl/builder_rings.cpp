// The builder's rings: slots of shared memory, accumulators, answers of launch control; and the schedules of tiles.
#include <algorithm>

#include "dsl/builder.hpp"

namespace kiln::dsl {

using ir::Operand;

namespace {

constexpr Here nowhere = Here::nowhere();

}  // namespace

// Pairs ---------------------------------------------------------------------------------------------------------------

// The pair of a cluster of two begins at rank 0.
U32 KernelBuilder::pair_rank() { return in_pairs() ? special("%cluster_ctarank") : constant(0); }

Operand KernelBuilder::leader_predicate() {
  return rec_.pure(ScalarType::pred, "setp.eq.u32", {pair_rank().operand(), Operand::number(0)}, nowhere);
}

Operand KernelBuilder::in_leader(const Operand& shared) {
  return rec_.pure(ScalarType::b32, "mapa.shared::cluster.u32", {shared, Operand::number(0)}, nowhere);
}

// Rings ---------------------------------------------------------------------------------------------------------------

RingState& KernelBuilder::start_ring(std::list<RingState>& rings, const std::string& name, int stages, int slot_bytes,
                                     Here at) {
  RingState& ring = rings.emplace_back();
  ring.name = name;
  ring.stages = stages;
  ring.slot_bytes = slot_bytes;
  ring.made_at = at;
  return ring;
}

// A slot is full after `arrivals`, and empty after `releases`.
void KernelBuilder::add_barriers(RingState& ring, int releases, int arrivals) {
  ring.full = barrier_array(ring.name + "_full", ring.stages, arrivals, ring.made_at).operand();
  ring.empty = barrier_array(ring.name + "_empty", ring.stages, releases, ring.made_at).operand();
}

// Those that one side waits for: the producer for empty ones.
KernelBuilder::Barriers& KernelBuilder::barriers_of(const RingState& ring, RingSide waits) {
  const std::string name = ring.name + (waits == RingSide::producer ? "_empty" : "_full");
  return *std::find_if(barriers_.begin(), barriers_.end(), [&](const Barriers& b) { return b.name == name; });
}

RingState& KernelBuilder::add_store_ring(const std::string& name, int stages, int slot_bytes, Here at) {
  RingState& ring = start_ring(rings_, name, stages, slot_bytes, at);
  ring.tiles = shared_bytes(stages * slot_bytes, at).operand();
  return ring;
}

RingState& KernelBuilder::add_ring(const std::string& name, int stages, const SlotSize& slot, Here at) {
  RingState& ring = start_ring(rings_, name, stages, slot.bytes, at);
  if (context_.wgmma) place_later(ring, slot);
  else ring.tiles = shared_bytes(stages * slot.bytes, at).operand();
  add_barriers(ring, 1);
  if (in_pairs() && !context_.wgmma) {
    ring.leader_full = in_leader(ring.full);
    ring.is_leader = leader_predicate();
  }
  return ring;
}

RingState& KernelBuilder::add_accumulator_ring(const std::string& name, int stages, int columns, Here at) {
  constexpr int warps = 4;  // of the warpgroup that reads
  if (context_.wgmma) {
    RingState& ring = start_ring(rings_, name, stages, 0, at);
    ring.tiles = wgmma_sums(isa::tmem_lanes, columns, name, at);
    add_barriers(ring, warps);
    return ring;
  }
  RingState& ring = start_ring(rings_, name, stages, columns, at);
  ring.tiles = tmem_base();
  ring.first = tmem_columns(stages * columns, name, at);
  add_barriers(ring, in_pairs() ? 2 * warps : warps);
  if (in_pairs()) ring.leader_empty = in_leader(ring.empty);
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
  RingState& ring = start_ring(answers_, "tiles", 2, answer_bytes, at);
  ring.tiles = rec_.pure(ScalarType::b32, "mov.u32", {Operand::named(answers_symbol)}, nowhere);
  add_barriers(ring, 1);  // count_readers() corrects it
  if (in_pairs()) ring.leader_empty = in_leader(ring.empty);
  return {tiles(StaticSchedule(schedule), rows, columns, at), &ring, in_pairs() ? 2 : 1};
}

// Each role that reads the answers says so once, in each CTA that it runs in.
void KernelBuilder::count_readers() {
  for (const RingState& ring : answers_) {
    int readers = 0;
    for (const Role& role : roles_)
      if (ring.consumers.count(&role.entry)) readers += in_pairs() && !role.leader_only ? 2 : 1;
    barriers_of(ring, RingSide::producer).arrivals = readers;
  }
}

}  // namespace kiln::dsl
