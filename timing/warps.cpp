#include "timing/warps.hpp"

#include <algorithm>
#include <cstring>

namespace kiln::timing {

Warps::Warps(sim::Cluster& cluster, const Chip& chip, std::vector<Sm>& sms)
    : program_(cluster.grid.program),
      costs_(program_, chip, std::uint32_t(cluster.grid.launch.block.volume())),
      operations_(program_.code->operations.size()) {
  const std::size_t registers = program_.code->registers.size();
  for (sim::Cta& cta : cluster.ctas)
    for (sim::Warp& warp : cta.warps) {
      Track& t = tracks_.emplace_back();
      t.number = std::uint32_t(tracks_.size() - 1);
      t.cta = &cta, t.warp = &warp, t.sm = &sms[cta.rank];
      t.ready.resize(registers), t.reason.resize(registers);
    }
}

std::uint32_t Warps::number_of(std::uint32_t cta, std::uint32_t warp) const {
  for (const Track& t : tracks_)
    if (t.cta->index == cta && t.warp->index == warp) return t.number;
  return 0;
}

const ir::Operation* Warps::operation(std::uint32_t index) const {
  return index < operations_ ? &program_.code->operations[index] : nullptr;
}

bool Warps::concerns_itself(std::uint32_t index) const {
  const ir::Operation* const op = operation(index);
  return op && isa::unit(op->opcode) == isa::Unit::alu;
}

void Warps::set_ready(Track& t, std::uint32_t operation, double time) const {
  for (const ir::RegisterId r : costs_.written(operation)) t.ready[r] = time;
}

void Warps::set_ready(Track& t, std::uint32_t operation, double time, Stall reason) const {
  for (const ir::RegisterId r : costs_.written(operation)) t.ready[r] = time, t.reason[r] = reason;
}

const Operands& Warps::operands_of(const Track& t, std::uint32_t operation) const {
  Operands& o = t.operands;
  if (o.turns == t.turns && o.operation == operation) return o;
  const Cost& c = costs_[operation];
  o = {t.turns, operation, c.rises() ? t.passed : t.at, t.at, Stall::arithmetic};
  const auto wait_until = [&](double time, Stall reason) {
    if (time > o.there) o.there = time, o.reason = reason;
  };
  for (const ir::RegisterId r : costs_.read(operation)) wait_until(t.ready[r], t.reason[r]);
  for (const ir::RegisterId r : costs_.written(operation)) wait_until(t.ready[r], t.reason[r]);
  const auto& guard = program_.code->operations[operation].guard;
  if (guard && t.ready[*guard] > 0 && t.reason[*guard] == Stall::arithmetic)
    wait_until(t.ready[*guard] + costs_.guard_later(), Stall::arithmetic);
  if (c.orders) wait_until(t.begun, t.begun_reason);
  if (!c.moves) o.dependent = o.there;
  return o;
}

Next Warps::next(const Track& t, double now) const {
  const bool high = t.is_turn_of_others();
  const sim::Fragment& f = t.warp->fragments[std::size_t(high ? t.warp->highest() : t.warp->lowest())];
  const sim::Inst& inst = program_.insts[f.pc];
  Next n;
  n.operation = f.pc;
  sim::Mask guard;
  std::memcpy(&guard, t.warp->registers + inst.guard, sizeof guard);
  n.lanes = f.lanes & (guard ^ inst.guard_flip), n.is_all = n.lanes == f.lanes;
  if (f.pc >= operations_) {
    n.operands = n.dependent = n.unit = n.at = t.at;
    return n;
  }
  const Cost& c = costs_[f.pc];
  const Operands& operands = operands_of(t, f.pc);
  n.operands = operands.there, n.reason = operands.reason;
  n.unit = n.dependent = operands.dependent;
  if (n.lanes) {
    n.unit += c.before;
    n.unit_reason = Stall::fence;
    const auto not_before = [&](double time, Stall reason) {
      if (time > n.unit) n.unit = time, n.unit_reason = reason;
    };
    if (c.does == Does::mma || c.does == Does::tmem_copy) not_before(t.sm->tensor.room(n.unit), Stall::mma_queue);
    if (c.does == Does::wgmma && t.is_first_of_warpgroup()) not_before(t.sm->wgmmas.room(n.unit), Stall::mma_queue);
    if (c.releases) not_before(t.sm->stored(), Stall::fence);
    if (c.does == Does::wait_tmem_load) not_before(t.loaded, Stall::tensor_memory);
    if (c.does == Does::wait_tmem_store) not_before(t.stored, Stall::tensor_memory);
  }
  n.at = t.blocked ? std::max(t.at, now) : std::max(n.unit, t.scheduler().free());
  return n;
}

}  // namespace kiln::timing
