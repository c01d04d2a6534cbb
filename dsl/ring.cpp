#include "dsl/ring.hpp"

namespace kiln::dsl {

using ir::Operand;

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

SlotPlace next_slot(Recorder& r, RingState& ring, Here at) {
  auto [position, is_new] = ring.positions.try_emplace(r.role_key());
  if (is_new) position->second = start(r);
  const RingPosition& p = position->second;
  const Operand stage = copy(r, p.stage, at), phase = copy(r, p.phase, at);
  const bool barriers = !ring.full.text.empty();
  const Operand& full_base = barriers ? ring.full : ring.tiles;
  const Operand& empty_base = barriers ? ring.empty : ring.tiles;
  SlotPlace place{element(r, ring.tiles, stage, ring.slot_bytes, at),
                  {element(r, full_base, stage, isa::mbarrier_bytes, at), ring.name + "_full", nullptr},
                  {element(r, empty_base, stage, isa::mbarrier_bytes, at), ring.name + "_empty", &ring.released},
                  U32(r, phase)};
  advance(r, ring, p, at);
  return place;
}

}  // namespace kiln::dsl
