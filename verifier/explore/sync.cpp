// Barriers: of a warp, a CTA, a cluster, and mbarriers.
#include <algorithm>
#include <bit>
#include <utility>

#include "ptx/isa/mbarrier.hpp"
#include "ptx/isa/proxy_fence.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/mbarrier.hpp"
#include "ptx/rules/order.hpp"
#include "verifier/barrier_object.hpp"
#include "verifier/explore/machine.hpp"

namespace kiln::verifier::explore {

using isa::Opcode;

Status Machine::synchronise(Turn& t) {
  switch (isa::unit(t.op.opcode)) {
    case isa::Unit::barrier: return barrier(t);
    case isa::Unit::mbarrier: return mbarrier(t);
    case isa::Unit::async_copy: return copy(t);
    case isa::Unit::tcgen05: return tensor(t);
    default: break;
  }
  switch (t.op.opcode) {
    case Opcode::bar_warp_sync: return warp_barrier(t);
    case Opcode::fence_proxy:
    case Opcode::membar_proxy:
      if (t.op.modifiers.proxy == isa::Proxy::tensormap_generic)
        return t.op.modifiers.semantics == isa::Semantics::acquire ? acquire_maps(t) : publish_map(t), Status::next;
      if (isa::async_fence(t.op.modifiers).shared) t.warp.proxy_fence(t.lanes);
      return Status::next;
    case Opcode::fence_mbarrier_init: publish(t); return Status::next;
    case Opcode::fence:
    case Opcode::membar: t.warp.release_fence(t.lanes); return Status::next;
    case Opcode::st_async:
    case Opcode::red_async: throw Unfollowed{std::string(isa::spelling(t.op.opcode)), &t.op};
    default: touch_shared(t); return Status::next;
  }
}

Status Machine::warp_barrier(Turn& t) {
  const auto mask = Mask(number(t, ops::roles<ops::WarpExchange>(t.op).members, t.leader(), 32, "the member mask"));
  if (!t.converge(mask)) return Status::blocked;
  t.warp.meet(t.lanes);
  return Status::next;
}

Status Machine::cluster_barrier(Turn& t) {
  if (t.op.modifiers.aligned && !t.converge(all_lanes)) return Status::blocked;
  NamedBarrier& b = t.s.cluster;
  const bool waits = t.op.opcode == Opcode::barrier_cluster_wait;
  if (!waits) {
    const Clock clock = t.warp.released(t.lanes);
    b.open.join(t.op.modifiers.semantics == isa::Semantics::relaxed ? clock.relaxed() : clock);
    b.open.met.join(clock.seen);
    t.f.cluster_token = b.generation;
    b.arrived += std::uint32_t(std::popcount(t.lanes));
    if (b.arrived >= std::uint32_t(program_.threads) * program_.ctas) {
      b.published = b.open;
      b.arrived = 0;
      ++b.generation;
    }
    return Status::next;
  }
  if (b.generation <= t.f.cluster_token) {
    t.f.wait = {Wait::Kind::cluster, 0, 0, t.f.cluster_token, 0};
    return Status::blocked;
  }
  t.warp.acquire(t.lanes, b.published);
  return Status::next;
}

// Who does not know that the last use of the barrier is over may be counted in that one.
void Machine::note_arrival(Turn& t, NamedBarrier& b) {
  for (const EventId e : b.last_arrivals) {
    const Event& last = t.s.events[e];
    if (last.warp == t.warp_index || t.knows(e)) continue;
    breach(rules::barrier_overrun(false), t.op, last.operation, "an arrival that may come before its last use is over");
  }
  const EventId id = t.add_event();
  t.warp.learn(t.lanes, id);
  b.arrivals.push_back(id);
}

Status Machine::barrier(Turn& t) {
  switch (t.op.opcode) {
    case Opcode::barrier_cluster_arrive:
    case Opcode::barrier_cluster_wait: return cluster_barrier(t);
    default: break;
  }
  if (t.op.modifiers.aligned && !t.converge(all_lanes)) return Status::blocked;
  const auto named = ops::roles<ops::Barrier>(t.op);
  if (named.d) throw Unfollowed{"a barrier that reduces", &t.op};
  const auto id = std::uint32_t(number(t, named.id, t.leader(), 32, "the barrier's number"));
  NamedBarrier& b = t.cta.barriers[id];
  const bool leaves = t.op.opcode != Opcode::bar_arrive && t.op.opcode != Opcode::barrier_arrive &&
                      t.op.opcode != Opcode::bar_cta_arrive && t.op.opcode != Opcode::barrier_cta_arrive;
  if (!t.f.arrived) {
    const std::uint32_t expected = named.threads
                                       ? std::uint32_t(number(t, named.threads, t.leader(), 32, "the barrier's count"))
                                       : std::uint32_t(program_.threads);
    if (named.threads) breach(rules::barrier_count(expected), t.op);
    breach(rules::barrier_number(id), t.op);
    breach(rules::barrier_mismatch({b.expected, b.arrived}, expected, std::popcount(t.lanes)), t.op);
    b.expected = expected;
    note_arrival(t, b);
    b.open.join(t.warp.released(t.lanes));
    b.arrived += std::uint32_t(std::popcount(t.lanes));
    t.f.wait = {Wait::Kind::barrier, t.cta_index, id, b.generation, 0};
    if (b.arrived >= b.expected) {
      b.published = std::move(b.open);
      b.open = {};
      b.last_arrivals = std::exchange(b.arrivals, {});
      b.arrived = 0;
      ++b.generation;
    }
    if (!leaves) return t.f.wait = {}, Status::next;
    t.f.arrived = true;
    if (b.generation == t.f.wait.phase) return Status::blocked;
  }
  t.f.wait = {};
  t.warp.acquire(t.lanes, b.published);
  return Status::next;
}

Barrier& Machine::barrier_at(Turn& t, std::uint32_t cta, std::uint32_t address) {
  if (cta >= t.s.ctas.size()) throw Unfollowed{"an mbarrier of a CTA outside the cluster", &t.op};
  const auto found = t.s.ctas[cta].mbarriers.find(address);
  if (found != t.s.ctas[cta].mbarriers.end()) return found->second;
  breach(rules::mbarrier_use(rules::BarrierState::fresh), t.op);
  throw Unfollowed{"an mbarrier that nobody has initialised", &t.op};
}

// A phase that has all it waits for is over: who waited may go on, with what those knew who arrived.
void Machine::complete(State& s, std::uint32_t cta, std::uint32_t address, const ir::Operation& op) {
  Barrier& b = s.ctas[cta].mbarriers.at(address);
  if (b.pending != 0 || b.tx != 0) return;
  // Whoever has not seen the phase before by now may find this one over instead.
  b.observers.each([&](EventId e) {
    if (!b.open.past.has(e)) breach(rules::mbarrier_lapped(2), op, s.events[e].operation);
  });
  ++b.phase;
  b.pending = b.expected;
  b.copies = 0;
  b.before = b.completed;
  b.completed = s.add({&op, cta});
  b.open.seen.add(b.completed), b.open.past.add(b.completed);
  b.published = b.open;
  b.observers = {};
}

// The end of the phase that an arrival completes; 0 when it does not.
EventId Machine::arrive(Turn& t, std::uint32_t cta, std::uint32_t address, std::uint32_t count, const Clock& clock) {
  Barrier& b = barrier_at(t, cta, address);
  const rules::Verdict v = rules::mbarrier_arrivals(b.pending, count, false);
  if (v.broken()) {
    breach(v, t.op, b.last, std::to_string(count) + " arrivals where " + std::to_string(b.pending) + " are awaited");
    throw Unfollowed{"what follows too many arrivals", &t.op};
  }
  if (b.completed && !clock.past.has(b.completed)) {
    breach(rules::mbarrier_arrivals(0, count, false), t.op, t.s.events[b.completed].operation,
           "an arrival that may come before the phase before is over, and count for that");
    throw Unfollowed{"what follows an arrival that may count for another phase", &t.op};
  }
  b.open.join(clock);
  b.pending -= count;
  b.last = &t.op;
  const std::uint64_t phase = b.phase;
  complete(t.s, cta, address, t.op);
  return b.phase == phase ? 0 : b.completed;
}

Status Machine::wait(Turn& t) {
  const auto wait = ops::roles<ops::Mbarrier>(t.op);
  const auto p = place(t, wait.object, t.leader(), t.op.modifiers.space());
  Barrier& b = barrier_at(t, p.cta, p.address);
  const std::uint64_t operand =
      number(t, wait.parity ? wait.parity : wait.state, t.leader(), 64, "the phase that a wait asks for");
  const std::uint64_t parity = t.op.modifiers.parity ? operand & 1 : operand >> 40 & 1;
  const bool passes = (b.phase & 1) != parity;
  const EventId before = passes ? b.before : b.completed;
  if (before && !t.comes_after(before)) throw Unfollowed{"which phase a wait is for", &t.op};
  LaneTerms result;
  result.fill(terms_.constant(passes, 1));
  if (!passes && t.f.spun == t.at) {
    t.f.wait = {Wait::Kind::mbarrier, p.cta, p.address, b.phase, 0};
    return Status::blocked;
  }
  t.f.spun = passes ? Program::no_slot : t.at;
  if (passes) check_init(t, b, false);
  if (passes && b.phase > 0) {
    t.warp.acquire(t.lanes, b.published);
    const EventId seen = t.add_event();
    t.warp.learn(t.lanes, seen);
    b.observers.add(seen);
  }
  if (!program_.facts.definitions.written(t.at).empty()) write(t, 0, result);
  return Status::next;
}

// What an instruction on an mbarrier does for one of its lanes. `clock`: what the lanes know together.
void Machine::signal(Turn& t, const ir::Argument& object, int lane, const Clock& clock) {
  const isa::Modifiers& m = t.op.modifiers;
  const auto p = place(t, object, lane, m.space());
  const auto x = ops::roles<ops::Mbarrier>(t.op);
  switch (t.op.opcode) {
    case Opcode::mbarrier_init: {
      breach(rules::mbarrier_overwritten(!t.s.ctas[p.cta].mbarriers.contains(p.address)), t.op, nullptr,
             "mbarrier.init where one lives");
      Barrier b;
      b.expected = b.pending = std::uint32_t(number(t, x.count, lane, 32, "the count of an mbarrier"));
      b.init = t.s.add({&t.op, t.cta_index, t.warp_index, Mask{1} << lane});
      t.warp.learn(Mask{1} << lane, b.init);
      t.s.ctas[p.cta].mbarriers[p.address] = b;
      return;
    }
    case Opcode::mbarrier_inval: t.s.ctas[p.cta].mbarriers.erase(p.address); return;
    default: check_init(t, barrier_at(t, p.cta, p.address), false);
  }
  switch (t.op.opcode) {
    case Opcode::mbarrier_expect_tx:
      barrier_at(t, p.cta, p.address).tx += std::int64_t(number(t, x.bytes, lane, 32, "expected bytes"));
      return;
    case Opcode::mbarrier_complete_tx:
      barrier_at(t, p.cta, p.address).tx -= std::int64_t(number(t, x.bytes, lane, 32, "completed bytes"));
      return complete(t.s, p.cta, p.address, t.op);
    default: break;
  }
  std::uint32_t count = 1;
  if (m.expect_tx)
    barrier_at(t, p.cta, p.address).tx += std::int64_t(number(t, x.bytes, lane, 32, "expected bytes"));
  else if (x.count)
    count = std::uint32_t(number(t, x.count, lane, 32, "the count of an arrival"));
  if (t.op.opcode == Opcode::mbarrier_arrive_drop) barrier_at(t, p.cta, p.address).expected -= count;
  const bool relaxed = m.semantics == isa::Semantics::relaxed;
  Clock released = relaxed ? clock.relaxed() : clock;
  if (const EventId use = note_arrival(t, p.cta, p.address, Mask{1} << lane, false)) {
    breach(rules::mbarrier_scope(relaxed || m.scope == isa::Scope::cluster), t.op, nullptr, ".cta scope, the default");
    t.warp.learn(Mask{1} << lane, use);
    released.seen.add(use);  // it is over when its phase is
  }
  const EventId end = arrive(t, p.cta, p.address, count, released);
  if (end) t.warp.note_past(Mask{1} << lane, end);
}

Status Machine::mbarrier(Turn& t) {
  switch (t.op.opcode) {
    case Opcode::mbarrier_try_wait:
    case Opcode::mbarrier_test_wait: return wait(t);
    case Opcode::mbarrier_pending_count: return Status::next;
    default: break;
  }
  const ir::Argument* object = barrier_operand(t.op);
  if (!object) throw Unfollowed{"an mbarrier that is not named", &t.op};
  const Clock clock = t.warp.released(t.lanes);
  for (Mask lanes = t.lanes; lanes; lanes &= lanes - 1) signal(t, *object, std::countr_zero(lanes), clock);
  return Status::next;
}

}  // namespace kiln::verifier::explore
