#include "dsl/ring.hpp"

#include "dsl/operands.hpp"

namespace kiln::dsl {

std::string RingState::what() const { return "ring '" + name + "'"; }

void RingState::add(const SlotPart& part) {
  offsets.push_back(slot_bytes);
  slot_bytes += placed_bytes(part.bytes);
  transaction_bytes += part.transaction_bytes;
}

namespace {

RingPosition start(Recorder& r) {
  RingPosition p{r.fresh(ScalarType::b32), r.fresh(ScalarType::b32)};
  r.at_role_entry([&] {
    r.emit("mov.b32", {p.stage, Operand::number(0)}, Here::nowhere());
    r.emit("mov.b32", {p.phase, Operand::number(0)}, Here::nowhere());
  });
  return p;
}

// base + stage * bytes.
U32 element(Recorder& r, const Operand& base, const Operand& stage, int bytes, Here at) {
  if (bytes == 0) return {r, base};
  return {r, r.pure(ScalarType::b32, "mad.lo.u32", {stage, Operand::number(bytes), base}, at)};
}

Operand copy(Recorder& r, const Operand& from, Here at) {
  Operand to = r.fresh(ScalarType::b32);
  r.emit("mov.b32", {to, from}, at);
  return to;
}

// stage = (stage + 1) % stages; the phase flips when the stage wraps.
void advance(Recorder& r, const RingState& ring, const RingPosition& p, Here at) {
  const Operand wraps = r.fresh(ScalarType::pred), flip = r.fresh(ScalarType::b32);
  r.emit("add.u32", {p.stage, p.stage, Operand::number(1)}, at);
  r.emit("setp.eq.u32", {wraps, p.stage, Operand::number(ring.stages)}, at);
  r.emit("selp.b32", {p.stage, Operand::number(0), p.stage, wraps}, at);
  r.emit("selp.b32", {flip, Operand::number(1), Operand::number(0), wraps}, at);
  r.emit("xor.b32", {p.phase, p.phase, flip}, at);
}

}  // namespace

SlotPlace next_slot(Recorder& r, RingState& ring, RingSide side, Here at) {
  (side == RingSide::producer ? ring.producers : ring.consumers).insert(r.role_key());
  auto [position, is_new] = ring.positions.try_emplace({r.role_key(), side});
  if (is_new) position->second = start(r);
  const RingPosition& p = position->second;
  const Operand stage = copy(r, p.stage, at), phase = copy(r, p.phase, at);
  const bool barriers = !ring.full.text.empty();
  const auto barrier = [&](const Operand& array) {
    return element(r, barriers ? array : ring.tiles, stage, isa::mbarrier_bytes, at);
  };
  const Mbarrier full{barrier(ring.full), ring.name + "_full", nullptr};
  const Mbarrier empty{barrier(ring.empty), ring.name + "_empty", &ring.released};
  const auto in_leader = [&](const std::optional<Operand>& array, const Mbarrier& own) {
    return array ? AnyMbarrier(RemoteMbarrier{{barrier(*array)}, own.released}) : AnyMbarrier(own);
  };
  SlotPlace place{apply("add", element(r, ring.tiles, stage, ring.slot_bytes, at), ring.first, at), full, empty,
                  in_leader(ring.leader_full, full), in_leader(ring.leader_empty, empty), U32(r, stage), U32(r, phase)};
  advance(r, ring, p, at);
  return place;
}

TryWaitExtras wait_order(const RingState& ring) {
  if (ring.leader_empty || ring.peer_bytes > 0) return {acquire_cluster};
  return {};
}

void wait_until_empty(Thread t, const RingState& ring, const SlotPlace& place, Here at) {
  t.wait(place.empty, Phase(apply("xor", place.phase, 1, at)), wait_order(ring), at);
}

// The slot's next bytes come through the async proxy, which no barrier orders after reads through the generic one.
// PTX ISA "Async proxy".
void release_slot(Warpgroup& g, const Mbarrier& empty, Here at) {
  g.fence_proxy_async(at);
  g.arrive(empty, at);
}
void release_slot(const Warp& warp, const Mbarrier& empty, Here at) {
  Warp w = warp;
  w.fence_proxy_async(at);
  w.sync(at);
  w.elect([&](Thread t) { t.arrive(empty, at); }, at);
}
void release_slot(const Thread& thread, const Mbarrier& empty, Here at) {
  Thread t = thread;
  t.fence_proxy_async(at);
  t.arrive(empty, at);
}

namespace {

// Arrivals come from the leader's tensor core. After a CTA has ended its shared memory may not be written, so it stays
// until the last arrival.
void drain_at_exit(Thread t, RingState& ring, Here at) {
  if (std::exchange(ring.drains, true)) return;
  t.role().at_exit.push_back([t, &ring, at] { drain_ring(t, ring, at); });
}

}  // namespace

void drain_ring(Thread t, RingState& ring, Here at) {
  t.loop(OperandOf<U32>(ring.stages, at),
         [&](U32) { wait_until_empty(t, ring, next_slot(t.recorder(), ring, RingSide::producer, at), at); });
}

SlotPlace slot_to_fill(Thread t, RingState& ring, Here at) {
  const int bytes = ring.transaction_bytes;
  SlotPlace place = next_slot(t.recorder(), ring, RingSide::producer, at);
  wait_until_empty(t, ring, place, at);
  if (!ring.is_leader) {
    t.expect_tx(place.full, bytes + ring.peer_bytes, at);
    return place;
  }
  drain_at_exit(t, ring, at);
  t.recorder().require(rules::mbarrier_tx(2 * bytes), at);
  t.recorder().emit_if(*ring.is_leader, false, "mbarrier.arrive.expect_tx.shared::cta.b64",
                       {sink(), address_of(t.recorder(), place.full.address, at), Operand::number(2 * bytes)}, at);
  return place;
}

}  // namespace kiln::dsl
