// Instructions on mbarrier objects. PTX ISA "mbarrier".
//
// A failed try_wait or test_wait suspends its lanes until the barrier changes; only when nothing else can happen does
// it answer false, so that a loop around it costs nothing and a program that does other things meanwhile still runs
// right.
#include <bit>
#include <cstring>

#include "ptx/isa/mbarrier.hpp"
#include "ptx/rules/mbarrier.hpp"
#include "ptx/rules/memory.hpp"
#include "sim/async/mbarrier_signal.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/ops/alu.hpp"

namespace kiln::sim {

namespace {

enum : u8 { flag_parity = 1, flag_drop = 2, flag_expect = 4, flag_no_complete = 8, flag_remote = 16 };

// The object at a lane's address. Its eight bytes must still be what the unit left there.
struct Object {
  Cta* owner = nullptr;
  u32 address = 0;
};
Object object(Context& c, const Inst& i, int lane, bool fresh = false) {
  const auto space = Space(i.space);
  const Place p = locate_shared(c, space, c.address(i, lane), isa::mbarrier_bytes, isa::mbarrier_bytes, lane);
  const auto address = u32(p.address);
  if (fresh) return {p.owner, address};
  const u64 word = p.owner->mbarriers.at(address).word();
  require(rules::mbarrier_overwritten(std::memcmp(&word, p.view.data, sizeof word) == 0), "shared address {:#x}",
          address);
  return {p.owner, address};
}

void tell(Context& c, const Inst& i, int lane, const Object& o, SyncKind kind, u64 value) {
  observe(c, i, 1u << lane, Sync{kind, o.owner->index, o.address, value, 0});
}

// more[0]: the count. Lanes that give one object the same count initialise it together.
void init(Context& c, const Inst& i, Mask lanes) {
  for (Mask left = lanes; left;) {
    const int first = std::countr_zero(left);
    const Object o = object(c, i, first, true);
    const auto n = std::int64_t(u32(c.value(i, 0, first)));
    const Mask same = lanes_where(left, [&](int l) {
      const Object other = object(c, i, l, true);
      return other.owner == o.owner && other.address == o.address && u32(c.value(i, 0, l)) == u32(n);
    });
    left &= ~same;
    o.owner->mbarriers.init(o.address, n);
    mirror_mbarrier(*o.owner, o.address);
    if (const auto v = rules::mbarrier_init_lanes(std::popcount(same)); v.broken()) c.grid->report(i.operation, v);
    observe(c, i, same, Sync{SyncKind::mbarrier_init, o.owner->index, o.address, u64(n), 0});
  }
  c.cluster->changed(WaitKind::mbarrier);
}

void invalidate(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const Object o = object(c, i, l);
    o.owner->mbarriers.invalidate(o.address);
    o.owner->shared.poison(o.address, isa::mbarrier_bytes);
    tell(c, i, l, o, SyncKind::mbarrier_inval, 0);
  }
}

// more[0]: count or bytes; d: the state, in a 64-bit register.
void arrive_at(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const Object o = object(c, i, l);
    const auto n = std::int64_t(u32(c.value(i, 0, l)));
    MbarrierTable& table = o.owner->mbarriers;
    if (i.flags & flag_expect) {
      table.expect(o.address, n);
      tell(c, i, l, o, SyncKind::mbarrier_expect, u64(n));
    }
    const u64 state = table.at(o.address).word();
    table.at(o.address).arrived({i.operation, phase_of_state(state), c.cta->index, c.warp->index, 1u << l});
    const std::int64_t arrivals = i.flags & flag_expect ? 1 : n;
    tell(c, i, l, o, SyncKind::mbarrier_arrive, phase_of_state(state));
    const bool flipped =
        table.arrive(o.address, arrivals, (i.flags & flag_drop) != 0, (i.flags & flag_no_complete) != 0);
    publish_mbarrier(*o.owner, o.address, flipped);
    c.lanes<u64>(i.d)[l] = state;
  }
}

void expect_tx(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const Object o = object(c, i, l);
    const auto n = std::int64_t(u32(c.value(i, 0, l)));
    o.owner->mbarriers.expect(o.address, n);
    mirror_mbarrier(*o.owner, o.address);
    tell(c, i, l, o, SyncKind::mbarrier_expect, u64(n));
  }
  ++c.cluster->stamp;
}

void complete_tx(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const Object o = object(c, i, l);
    const auto n = std::int64_t(u32(c.value(i, 0, l)));
    tell(c, i, l, o, SyncKind::mbarrier_complete, u64(n));
    signal_mbarrier(*o.owner, o.address, 0, n);
  }
}

bool phase_done(Context& c, const Inst& i, const Mbarrier& b, int lane) {
  const u64 operand = c.value(i, 0, lane);
  if (i.flags & flag_parity) return MbarrierTable::completed(b, (operand & 1) != 0);
  return b.phase != phase_of_state(operand);
}

// The phase that was open when the fragment began to wait for this object.
u64 first_phase(const Context& c, const Object& o, const Mbarrier& b) {
  const Wait& w = c.fragment->wait;
  return w.kind == WaitKind::mbarrier && w.cta_rank == o.owner->rank && w.address == o.address ? w.phase : b.phase;
}

// more[0]: the state or parity; d: the predicate.
Status wait_for_phase(Context& c, const Inst& i, Mask lanes) {
  Mask done = 0;
  Wait w;
  for (const int l : each_lane(lanes)) {
    const Object o = object(c, i, l);
    require(rules::shared_remote(o.owner->rank, c.cta->rank), "a wait on an mbarrier of CTA {} of the cluster",
            o.owner->rank);
    const Mbarrier& b = o.owner->mbarriers.at(o.address);
    if (phase_done(c, i, b, l)) {
      done |= 1u << l;
      continue;
    }
    w = {WaitKind::mbarrier, o.owner->rank, o.address, first_phase(c, o, b), 0};
    if (c.grid->observer && b.phase >= w.phase + 2) tell(c, i, l, o, SyncKind::mbarrier_lapped, b.phase - w.phase);
  }
  if (done != lanes && !c.fragment->expired) return c.block(w);
  c.fragment->expired = false;
  if (done == lanes) c.fragment->wait = {};
  if (c.grid->observer)
    for (const int l : each_lane(done)) {
      const Object o = object(c, i, l);
      tell(c, i, l, o, SyncKind::mbarrier_observe, o.owner->mbarriers.at(o.address).phase);
    }
  c.write_mask(i.d, lanes, done);
  return Status::next;
}

bool passes(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const Object o = object(c, i, l);
    if (!phase_done(c, i, o.owner->mbarriers.at(o.address), l)) return false;
  }
  return true;
}

using PendingCount = decltype([](u64 state) { return pending_of_state(state); });

}  // namespace

bool mbarrier_wait_passes(Context& c, const Inst& i, Mask lanes) {
  try {
    return passes(c, i, lanes);
  } catch (const Fault&) {
    return true;
  }
}

void bind_mbarrier_init(Binder& binder, const ir::Operation& op, const ops::Mbarrier& m, Inst& inst) {
  binder.access(inst, op, m.object);
  binder.append(inst, binder.any_width(m.count, ScalarType::u32));
  inst.run = goes_on<init>;
}

void bind_mbarrier_inval(Binder& binder, const ir::Operation& op, const ops::Mbarrier& m, Inst& inst) {
  binder.access(inst, op, m.object);
  inst.run = goes_on<invalidate>;
}

void bind_mbarrier_arrive(Binder& binder, const ir::Operation& op, const ops::Mbarrier& m, Inst& inst) {
  binder.access(inst, op, m.object);
  const bool returns = m.state->kind == ir::Argument::Kind::reg;
  inst.d = (returns ? binder.result(m.state, ScalarType::b64) : binder.scratch(8)).offset;
  inst.flags = u8((op.opcode == Opcode::mbarrier_arrive_drop ? flag_drop : 0) |
                  (op.modifiers.expect_tx ? flag_expect : 0) | (op.modifiers.no_complete ? flag_no_complete : 0));
  const ops::Operand amount = m.bytes ? m.bytes : m.count;
  if (op.modifiers.no_complete && !amount) throw Gap{".noComplete without a count"};  // ptxas refuses it
  binder.append(inst, amount ? binder.any_width(amount, ScalarType::u32) : binder.constant(1, 4));
  inst.run = goes_on<arrive_at>;
}

void bind_mbarrier_transaction(Binder& binder, const ir::Operation& op, const ops::Mbarrier& m, Inst& inst) {
  binder.access(inst, op, m.object);
  binder.append(inst, binder.any_width(m.bytes, ScalarType::u32));
  inst.run = op.opcode == Opcode::mbarrier_expect_tx ? goes_on<expect_tx> : goes_on<complete_tx>;
}

void bind_mbarrier_wait(Binder& binder, const ir::Operation& op, const ops::Mbarrier& m, Inst& inst) {
  binder.access(inst, op, m.object);
  inst.d = binder.any_result(m.done, ScalarType::pred).offset;
  inst.flags = m.parity ? flag_parity : 0;
  binder.append(inst,
                m.parity ? binder.any_width(m.parity, ScalarType::u32) : binder.any_width(m.state, ScalarType::b64));
  inst.run = wait_for_phase;
}

void bind_mbarrier_pending_count(Binder& binder, const ir::Operation&, const ops::Mbarrier& m, Inst& inst) {
  inst.d = binder.result(m.count, ScalarType::u32).offset;
  inst.a = binder.source(m.state, ScalarType::b64).offset;
  inst.run = unary<PendingCount, u64, u32>;
}

}  // namespace kiln::sim
