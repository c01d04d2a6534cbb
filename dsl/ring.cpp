#include "dsl/ring.hpp"

#include <algorithm>
#include <numeric>

#include "dsl/operands.hpp"

namespace kiln::dsl {

std::string RingState::what() const { return "ring '" + name + "'"; }

void RingState::add(const SlotPart& part) {
  offsets.push_back(slot_bytes);
  slot_bytes += placed_bytes(part.bytes);
  transaction_bytes.push_back(part.transaction_bytes);
  peer_bytes.push_back(0);
}

bool RingState::filled_by_peer() const {
  return std::any_of(peer_bytes.begin(), peer_bytes.end(), [](int bytes) { return bytes > 0; });
}

namespace {

// The first slot of a turn.
RingPosition start(Recorder& r, const RoleContext& role, const RingTurn& turn) {
  RingPosition p{r.fresh(ScalarType::b32), r.fresh(ScalarType::b32)};
  r.at_role_entry([&] {
    const Operand first = turn.by_warp ? apply("sub", U32(r, role.warp), role.first_warp, Here::nowhere()).operand()
                                       : Operand::number(turn.in_runs ? 0 : turn.first);
    r.emit("mov.b32", {p.stage, first}, Here::nowhere());
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

// stage = (stage + step) % stages; the phase flips when the stage wraps.
void advance(Recorder& r, const RingState& ring, const RingPosition& p, int step, Here at) {
  const Operand wraps = r.fresh(ScalarType::pred), flip = r.fresh(ScalarType::b32);
  r.emit("add.u32", {p.stage, p.stage, Operand::number(step)}, at);
  if (step == 1) {
    r.emit("setp.eq.u32", {wraps, p.stage, Operand::number(ring.stages)}, at);
    r.emit("selp.b32", {p.stage, Operand::number(0), p.stage, wraps}, at);
  } else {
    r.emit("setp.ge.u32", {wraps, p.stage, Operand::number(ring.stages)}, at);
    r.emit_if(wraps, false, "sub.u32", {p.stage, p.stage, Operand::number(ring.stages)}, at);
  }
  r.emit("selp.b32", {flip, Operand::number(1), Operand::number(0), wraps}, at);
  r.emit("xor.b32", {p.phase, p.phase, flip}, at);
}

// Where a role stands, which joins that side.
const RingPosition& position_of(const Issuer& scope, RingState& ring, RingSide side, const RingTurn& turn) {
  Recorder& r = scope.recorder();
  RingUse& use = (side == RingSide::producer ? ring.producers : ring.consumers)[r.role_key()];
  use.turn = turn;
  if (turn.by_warp) use.turn.of = scope.role().warps();
  auto [position, is_new] = ring.positions.try_emplace({r.role_key(), side});
  if (is_new) position->second = start(r, scope.role(), turn);
  return position->second;
}

}  // namespace

SlotPlace next_slot(const Issuer& scope, RingState& ring, RingSide side, const RingTurn& turn, Here at) {
  Recorder& r = scope.recorder();
  const RingPosition& p = position_of(scope, ring, side, turn);
  const Operand stage = copy(r, p.stage, at), phase = copy(r, p.phase, at);
  const bool barriers = !ring.full.text.empty();
  const auto barrier = [&](const Operand& array) {
    return element(r, barriers ? array : ring.tiles, stage, isa::mbarrier_bytes, at);
  };
  const Mbarrier full{barrier(ring.full), ring.name + "_full", nullptr};
  const Mbarrier empty{barrier(ring.empty), ring.name + "_empty", &ring.releases};
  const auto in_leader = [&](const std::optional<Operand>& array, const Mbarrier& own) {
    return array ? AnyMbarrier(RemoteMbarrier{{barrier(*array)}, own.releases}) : AnyMbarrier(own);
  };
  SlotPlace place{apply("add", element(r, ring.tiles, stage, ring.slot_bytes, at), ring.first, at),
                  full,
                  empty,
                  in_leader(ring.leader_full, full),
                  in_leader(ring.leader_empty, empty),
                  U32(r, stage),
                  U32(r, phase)};
  const int warps = turn.by_warp ? scope.role().warps() : 1;
  advance(r, ring, p, turn.in_runs ? 1 : turn.of * warps, at);
  return place;
}

void skip_slots(const Issuer& scope, RingState& ring, RingSide side, const RingTurn& turn, const U32& slots, Here at) {
  Recorder& r = scope.recorder();
  const RingPosition& p = position_of(scope, ring, side, turn);
  const U32 ahead = apply("add", U32(r, copy(r, p.stage, at)), slots, at);
  const U32 rounds = apply("div", ahead, ring.stages, at);
  const U32 stage = apply("sub", ahead, apply("mul.lo", rounds, ring.stages, at), at);
  r.emit("mov.b32", {p.stage, use(r, stage, at)}, at);
  r.emit("xor.b32", {p.phase, p.phase, use(r, apply("and", rounds, 1, at), at)}, at);
}

TryWaitExtras wait_order(const RingState& ring) {
  if (ring.leader_empty || ring.filled_by_peer()) return {acquire_cluster};
  return {};
}

void wait_until_empty(Mbarriers scope, const RingState& ring, const SlotPlace& place, Here at) {
  scope.wait(place.empty, Phase(apply("xor", place.phase, 1, at)), wait_order(ring), at);
}

// The slot's next bytes come through the async proxy, which no barrier orders after reads through the generic one.
// PTX ISA "Async proxy".
void release_slot(Warpgroup& g, const Mbarrier& empty, const RingTurn&, Here at) {
  own_proxy_fence(g.recorder(), at);
  g.arrive(empty, at);
}
void release_slot(const Warp& warp, const Mbarrier& empty, const RingTurn& turn, Here at) {
  Warp w = warp;
  own_proxy_fence(w.recorder(), at);
  w.sync(at);
  w.elect([&](Thread t) { t.arrive(empty, at); }, at);
  AnyMbarrier(empty).count(w.recorder(), turn.by_warp ? 1 : w.role().warps());
}
void release_slot(const Thread& thread, const Mbarrier& empty, const RingTurn&, Here at) {
  Thread t = thread;
  own_proxy_fence(t.recorder(), at);
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
         [&](U32) { wait_until_empty(t, ring, next_slot(t, ring, RingSide::producer, {}, at), at); });
}

namespace {

// Of these parts; none: of all.
int bytes_of(const std::vector<int>& of_part, const std::vector<int>& parts) {
  if (parts.empty()) return std::accumulate(of_part.begin(), of_part.end(), 0);
  return std::accumulate(parts.begin(), parts.end(), 0,
                         [&](int sum, int part) { return sum + of_part[std::size_t(part)]; });
}

// The role fills these parts, in some slots or in all.
void fills(RingUse& use, const RingState& ring, const std::vector<int>& parts) {
  use.parts.insert(use.parts.end(), parts.begin(), parts.end());
  if (parts.empty())
    for (int part = 0; part < int(ring.offsets.size()); ++part) use.parts.push_back(part);
}

}  // namespace

SlotPlace slot_to_fill(Thread t, RingState& ring, const RingTurn& turn, const std::vector<int>& parts, Here at) {
  const int bytes = bytes_of(ring.transaction_bytes, parts), peer_bytes = bytes_of(ring.peer_bytes, parts);
  SlotPlace place = next_slot(t, ring, RingSide::producer, turn, at);
  fills(ring.producers[t.recorder().role_key()], ring, parts);
  wait_until_empty(t, ring, place, at);
  if (!ring.is_leader) {
    t.expect_tx(place.full, bytes + peer_bytes, at);
    return place;
  }
  drain_at_exit(t, ring, at);
  t.recorder().require(rules::mbarrier_tx(2 * bytes), at);
  t.recorder().emit_if(*ring.is_leader, false, "mbarrier.arrive.expect_tx.shared::cta.b64",
                       {sink(), address_of(t.recorder(), place.full.address, at), Operand::number(2 * bytes)}, at);
  return place;
}

SlotPlace slot_to_store(Warpgroup& g, RingState& ring, const RingTurn& turn, const std::vector<int>& parts, Here at) {
  SlotPlace place = next_slot(g, ring, RingSide::producer, turn, at);
  RingUse& use = ring.producers[g.recorder().role_key()];
  fills(use, ring, parts);
  use.by_threads = true;
  wait_until_empty(g, ring, place, at);
  return place;
}

void publish_slot(Warpgroup& g, const AnyMbarrier& full, Here at) {
  own_proxy_fence(g.recorder(), at);
  g.arrive(full, at);
}

}  // namespace kiln::dsl
