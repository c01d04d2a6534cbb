#include "verifier/explore/barriers.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "ptx/order/access.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/mbarrier.hpp"
#include "ptx/rules/order.hpp"
#include "verifier/barrier_object.hpp"
#include "verifier/mistakes.hpp"

namespace kiln::verifier::explore {

using isa::Opcode;

Status Barriers::execute_warp(const Turn& t) {
  const auto mask = Mask(values_.number(t, ops::roles<ops::WarpExchange>(t.op).members, 32, "the member mask"));
  if (!t.converge(mask)) return Status::blocked;
  t.warp.meet(t.lanes);
  return Status::next;
}

Status Barriers::execute_cluster(const Turn& t) {
  if (t.op.modifiers.aligned && !t.converge(all_lanes)) return Status::blocked;
  NamedBarrier& b = t.s.cluster;
  const bool waits = t.op.opcode == Opcode::barrier_cluster_wait;
  if (!waits) {
    const Clock clock = t.warp.released(t.lanes);
    b.open.join(t.op.modifiers.semantics == isa::Semantics::relaxed ? clock.relaxed(&Clock::handed_wide) : clock);
    b.open.met.join(clock.seen);
    b.expected = std::uint32_t(program_.threads) * program_.ctas;
    b.awaits_all = true;
    b.arrived += std::uint32_t(std::popcount(t.lanes));
    t.f.cluster_uses = b.generation + 1;
    if (b.is_complete()) end_use(t.s);
    return Status::next;
  }
  const std::uint32_t use = std::max(1u, t.f.cluster_uses);
  if (b.generation < use) {
    t.f.wait = {Wait::Kind::cluster, 0, 0, use - 1, 0};
    return Status::blocked;
  }
  t.warp.acquire(t.lanes, b.published);
  return Status::next;
}

// The cluster's barrier: later uses come after all that threads did before they exited.
void Barriers::end_use(State& s) {
  NamedBarrier& b = s.cluster;
  b.published = b.open;
  b.arrived = b.gone = 0;
  ++b.generation;
  for (const Cta& cta : s.ctas) {
    b.open.join(cta.departed);
    b.gone += cta.gone;
  }
}

void Barriers::end_use(const Cta& cta, NamedBarrier& b) {
  b.published = std::move(b.open);
  b.open = {};
  if (b.awaits_all) b.published.join(cta.departed);
  b.last_arrivals = std::exchange(b.arrivals, {});
  b.arrived = 0;
  ++b.generation;
}

// With a count a warp arrives as a whole, lanes that have exited included: how many these are, once all others are at
// the barrier or `arriving`. PTX ISA "barrier".
int Barriers::lanes_for_the_warp(const Warp& warp, std::uint32_t id, const NamedBarrier& b, Mask arriving) {
  Mask live = 0, there = arriving;
  for (const Fragment& f : warp.fragments) {
    live |= f.lanes;
    const bool waits = f.arrived && f.wait.kind == Wait::Kind::barrier;
    if (waits && f.wait.object == id && f.wait.phase == b.generation) there |= f.lanes;
  }
  return there && (live & ~there) == 0 ? lanes_per_warp - std::popcount(live) : 0;
}

// PTX ISA "exit": a barrier of all threads that only exiting threads hold up is released. So an exit hands on what an
// arrival would, to the uses in which the thread has not arrived; on an H100 stored words too
// (tests/gpu/relaxed_barrier.cu).
void Barriers::depart(State& s, std::uint32_t index, Warp& warp, const Fragment& f, Mask lanes) {
  Cta& cta = s.ctas[index];
  Clock clock = warp.released(lanes);
  clock.met.join(clock.seen);
  const auto threads = std::uint32_t(std::popcount(lanes));
  cta.gone += threads;
  cta.departed.join(clock);
  for (auto& [id, b] : cta.barriers) {
    b.gone = cta.gone;
    if (!b.awaits_all) b.arrived += std::uint32_t(lanes_for_the_warp(warp, id, b, 0));
    if (b.is_complete()) end_use(cta, b);
  }
  if (f.cluster_uses <= s.cluster.generation) {
    s.cluster.gone += threads;
    s.cluster.open.join(clock);
    if (s.cluster.awaits_all && s.cluster.is_complete()) end_use(s);
  }
  for (Fragment& other : warp.fragments)
    if (other.wait.kind == Wait::Kind::lanes) other.wait = {};
}

// A thread that does not know that the last use of the barrier is over may be counted in that use.
void Barriers::arrive(const Turn& t, NamedBarrier& b) {
  for (const EventId e : b.last_arrivals) {
    const Event& last = t.s.events[e];
    if (last.warp == t.warp_index || t.knows(e)) continue;
    findings_.add(rules::barrier_overrun(false), t.op, last.operation,
                  "an arrival that may come before its last use is over");
  }
  const EventId id = t.add_event();
  t.warp.learn(t.lanes, id);
  b.arrivals.push_back(id);
}

Status Barriers::execute(const Turn& t) {
  if (t.op.opcode == Opcode::barrier_cluster_arrive || t.op.opcode == Opcode::barrier_cluster_wait)
    return execute_cluster(t);
  if (t.op.modifiers.aligned && !t.f.arrived && !t.converge(all_lanes)) return Status::blocked;
  const auto named = ops::roles<ops::Barrier>(t.op);
  if (named.d) throw Unfollowed{"a barrier that reduces", &t.op};
  const auto id = std::uint32_t(values_.number(t, named.id, 32, "the barrier's number"));
  NamedBarrier& b = t.cta.barriers[id];
  const bool waits = !order::arrives_alone(t.op.opcode);
  if (!t.f.arrived) {
    const std::uint32_t expected = named.threads
                                       ? std::uint32_t(values_.number(t, named.threads, 32, "the barrier's count"))
                                       : std::uint32_t(program_.threads);
    if (named.threads) findings_.add(rules::barrier_count(expected), t.op);
    findings_.add(rules::barrier_number(id), t.op);
    const int threads = std::popcount(t.lanes) + (named.threads ? lanes_for_the_warp(t.warp, id, b, t.lanes) : 0);
    findings_.add(rules::barrier_mismatch({b.expected, b.arrived}, expected, threads), t.op);
    b.expected = expected;
    b.awaits_all = !named.threads;
    b.gone = t.cta.gone;
    arrive(t, b);
    b.open.join(t.warp.released(t.lanes));
    b.arrived += std::uint32_t(threads);
    t.f.wait = {Wait::Kind::barrier, t.cta_index, id, b.generation, 0};
    if (b.is_complete()) end_use(t.cta, b);
    if (!waits) return t.f.wait = {}, Status::next;
    t.f.arrived = true;
    if (b.generation == t.f.wait.phase) return Status::blocked;
  }
  t.f.wait = {};
  t.warp.acquire(t.lanes, b.published);
  return Status::next;
}

Barrier& Barriers::at(const Turn& t, SharedPlace p) {
  if (p.cta >= t.s.ctas.size()) throw Unfollowed{"an mbarrier of a CTA outside the cluster", &t.op};
  auto& all = t.s.ctas[p.cta].mbarriers;
  if (const auto found = all.find(p.address); found != all.end()) return found->second;
  findings_.add(rules::mbarrier_use(rules::BarrierState::fresh), t.op);
  throw Unfollowed{"an mbarrier that is not initialised", &t.op};
}

void Barriers::complete(State& s, SharedPlace p, const ir::Operation& op) {
  Barrier& b = s.ctas[p.cta].mbarriers.at(p.address);
  if (b.pending != 0 || b.tx != 0 || b.late_bytes != 0) return;
  // A thread that waits for the phase before and has not seen it by now may find this one over instead.
  b.observers.each([&](EventId e) {
    if (!b.open.past.has(e)) findings_.add(rules::mbarrier_lapped(2), op, s.events[e].operation);
  });
  ++b.phase;
  b.pending = b.expected;
  b.copies = b.sized_copies = 0;
  b.late_bytes = 0;
  b.announced = 0;
  b.before = b.completed;
  b.completed = s.add({&op, p.cta});
  b.open.seen.add(b.completed), b.open.past.add(b.completed);
  b.published = b.open;
  b.observers = {};
}

EventId Barriers::arrive(const Turn& t, SharedPlace p, std::uint32_t count, const Clock& clock) {
  Barrier& b = at(t, p);
  const rules::Verdict v = rules::mbarrier_arrivals(b.pending, count, false);
  if (v.broken()) {
    findings_.add(v, t.op, b.last,
                  std::to_string(count) + " arrivals where " + std::to_string(b.pending) + " are awaited");
    throw Unfollowed{"what follows too many arrivals", &t.op};
  }
  if (b.completed && !clock.past.has(b.completed)) {
    findings_.add(rules::mbarrier_arrivals(0, count, false), t.op, t.s.events[b.completed].operation,
                  "an arrival that " + std::string(too_early));
    throw Unfollowed{"what follows an arrival that may count for another phase", &t.op};
  }
  b.open.join(clock);
  b.pending -= count;
  b.last = &t.op;
  const std::uint64_t phase = b.phase;
  complete(t.s, p, t.op);
  return b.phase == phase ? 0 : b.completed;
}

// Of one thread and instruction the latest use stands for all.
EventId Barriers::note_use(const Turn& t, SharedPlace p, Mask lanes, bool is_async) {
  if (p.cta == t.cta_index) return 0;
  memory_.use(t, p.cta);
  const EventId id = t.s.add({&t.op, t.cta_index, t.warp_index, lanes, Proxy::generic, is_async, true});
  std::vector<RemoteUse>& users = at(t, p).users;
  std::erase_if(users, [&](const RemoteUse& use) {
    const Event& old = t.s.events[use.arrival];
    return old.operation == &t.op && old.cta == t.cta_index && old.warp == t.warp_index && old.lanes == lanes;
  });
  const EventId issue = is_async ? t.add_event() : 0;
  if (issue) t.warp.learn(lanes, issue);
  users.push_back({id, issue});
  return id;
}

void Barriers::check_init(const Turn& t, const Barrier& b, bool is_async) {
  if (b.init == 0) return;
  const Clock& known = t.warp.clock(t.leader());
  const Event& init = t.s.events[b.init];
  const bool published = known.published.has(b.init) || known.fenced.has(b.init);
  const bool seen = published || known.seen.has(b.init), met = seen || known.met.has(b.init);
  const auto find = [&](const rules::Verdict& v, const char* got) {
    findings_.add({v, &t.op, init.operation, got, {}, "it is initialised here", {}});
  };
  if (!met) return find(rules::mbarrier_init_order(false), "an mbarrier whose initialisation is not known here");
  if (!seen) find(rules::mbarrier_init_fence(false), "an mbarrier after a relaxed barrier");
  if (seen && is_async && !published) find(rules::mbarrier_init_fence(false), "an asynchronous use of the mbarrier");
}

void Barriers::publish(const Turn& t) {
  for (const Cta& cta : t.s.ctas)
    for (const auto& [address, b] : cta.mbarriers) {
      const Event& init = t.s.events[b.init];
      const bool own = b.init && init.cta == t.cta_index && init.warp == t.warp_index && (init.lanes & ~t.lanes) == 0;
      if (!own) continue;
      for (Group& g : t.warp.groups)
        if (g.lanes & init.lanes) g.clock.published.add(b.init);
    }
}

Status Barriers::wait(Turn& t) {
  const auto wait = ops::roles<ops::Mbarrier>(t.op);
  const auto p = memory_.place(t, wait.object, t.leader(), t.op.modifiers.space());
  Barrier& b = at(t, p);
  const std::uint64_t operand =
      values_.number(t, wait.parity ? wait.parity : wait.state, 64, "the phase that a wait asks for");
  const std::uint64_t parity = t.op.modifiers.parity ? operand & 1 : operand >> 40 & 1;
  const bool passes = (b.phase & 1) != parity;
  // Threads that do not ask for the answer go on in any case.
  const flow::Definitions& definitions = program_.facts.definitions;
  const auto written = definitions.written(t.at);
  if (std::all_of(written.begin(), written.end(), [&](ir::RegisterId r) { return definitions.readers(r).empty(); }))
    return Status::next;
  const EventId before = passes ? b.before : b.completed;
  if (before && !t.comes_after(before)) throw Unfollowed{"which phase a wait is for", &t.op};
  LaneTerms result;
  result.fill(values_.symbols().terms().constant(passes, 1));
  if (!passes && t.f.failed_wait == t.at) {
    t.f.wait = {Wait::Kind::mbarrier, p.cta, p.address, b.phase, 0};
    return Status::blocked;
  }
  t.f.failed_wait = passes ? Program::no_slot : t.at;
  if (passes) check_init(t, b, false);
  if (passes && b.phase > 0) {
    t.warp.acquire(t.lanes, b.published);
    const EventId seen = t.add_event();
    t.warp.learn(t.lanes, seen);
    b.observers.add(seen);
  }
  values_.write(t, 0, result);
  return Status::next;
}

// Lanes that give one object the same count initialise it together.
void Barriers::initialise(const Turn& t, const ir::Argument& object) {
  const auto place = [&](int lane) { return memory_.place(t, object, lane, t.op.modifiers.space()); };
  const auto count = [&](int lane) {
    return std::uint32_t(
        values_.number(t, ops::roles<ops::Mbarrier>(t.op).count, lane, 32, "the count of an mbarrier"));
  };
  for (Mask left = t.lanes; left;) {
    const int first = std::countr_zero(left);
    const SharedPlace p = place(first);
    Mask same = 0;
    for (const int l : Lanes(left)) {
      const SharedPlace other = place(l);
      if (other.cta == p.cta && other.address == p.address && count(l) == count(first)) same |= Mask{1} << l;
    }
    left &= ~same;
    auto& all = t.s.ctas[p.cta].mbarriers;
    findings_.add(rules::mbarrier_overwritten(!all.contains(p.address)), t.op, nullptr,
                  "mbarrier.init where one lives");
    findings_.add(rules::mbarrier_init_lanes(std::popcount(same)), t.op);
    Barrier b;
    b.expected = b.pending = count(first);
    b.init = t.s.add({&t.op, t.cta_index, t.warp_index, same});
    t.warp.learn(same, b.init);
    all[p.address] = b;
  }
}

void Barriers::expect(const Turn& t, const SharedPlace& p, int lane) {
  Barrier& b = at(t, p);
  const auto bytes = std::int64_t(values_.number(t, ops::roles<ops::Mbarrier>(t.op).bytes, lane, 32, "expected bytes"));
  b.tx += bytes;
  b.announced += bytes;
  b.announcer = &t.op;
}

// mbarrier.complete_tx is relaxed: it hands on what a fence that reaches the object's CTA has released before it.
void Barriers::complete_bytes(const Turn& t, const SharedPlace& p, int lane, const Clock& known) {
  memory_.use(t, p.cta);
  Barrier& b = at(t, p);
  const auto bytes =
      std::int64_t(values_.number(t, ops::roles<ops::Mbarrier>(t.op).bytes, lane, 32, "completed bytes"));
  if (b.completed && !known.past.has(b.completed)) {
    findings_.add(rules::mbarrier_bytes(0, bytes), t.op, t.s.events[b.completed].operation,
                  "bytes that " + std::string(too_early));
    throw Unfollowed{"what follows bytes that may count for another phase", &t.op};
  }
  b.open.join(known.relaxed(p.cta == t.cta_index ? &Clock::handed : &Clock::handed_wide));
  b.tx -= bytes;
  complete(t.s, p, t.op);
}

// What an instruction on an mbarrier does to one object for one of its lanes. `known`: what the lanes know together.
void Barriers::signal(const Turn& t, const SharedPlace& p, int lane, const Clock& known) {
  const isa::Modifiers& m = t.op.modifiers;
  const auto x = ops::roles<ops::Mbarrier>(t.op);
  switch (t.op.opcode) {
    case Opcode::mbarrier_inval: t.s.ctas[p.cta].mbarriers.erase(p.address); return;
    default: check_init(t, at(t, p), false);
  }
  switch (t.op.opcode) {
    case Opcode::mbarrier_expect_tx: return expect(t, p, lane);
    case Opcode::mbarrier_complete_tx: return complete_bytes(t, p, lane, known);
    default: break;
  }
  std::uint32_t count = 1;
  if (m.expect_tx)
    expect(t, p, lane);
  else if (x.count)
    count = std::uint32_t(values_.number(t, x.count, lane, 32, "the count of an arrival"));
  if (t.op.opcode == Opcode::mbarrier_arrive_drop) at(t, p).expected -= count;
  const bool relaxed = m.semantics == isa::Semantics::relaxed;
  Clock released = relaxed ? known.relaxed() : known;
  if (const EventId use = note_use(t, p, Mask{1} << lane, false)) {
    findings_.add(rules::mbarrier_scope(m.scope == isa::Scope::cluster), t.op, nullptr, ".cta scope, the default");
    t.warp.learn(Mask{1} << lane, use);
    released.seen.add(use);  // it is over when its phase is
  }
  const EventId end = arrive(t, p, count, released);
  if (end) t.warp.note_past(Mask{1} << lane, end);
}

Status Barriers::execute_mbarrier(Turn& t) {
  switch (t.op.opcode) {
    case Opcode::mbarrier_try_wait:
    case Opcode::mbarrier_test_wait: return wait(t);
    case Opcode::mbarrier_pending_count: return Status::next;
    case Opcode::mbarrier_check_layout: throw Unfollowed{"a question for the layout of an mbarrier", &t.op};
    default: break;
  }
  const ir::Argument* object = barrier_operand(t.op);
  if (!object) throw Unfollowed{"an mbarrier that is not named", &t.op};
  const Clock known = t.warp.released(t.lanes);
  if (t.op.opcode == Opcode::mbarrier_init) return initialise(t, *object), Status::next;
  const ops::Operand& ctas = ops::roles<ops::Mbarrier>(t.op).ctas;
  for (const int l : Lanes(t.lanes)) {
    SharedPlace p = memory_.place(t, *object, l, t.op.modifiers.space());
    if (!ctas) {
      signal(t, p, l, known);
      continue;
    }
    const auto mask =
        std::uint32_t(values_.number(t, ctas, l, t.op.modifiers.cta_mask_bits(), "the CTAs of a multicast"));
    for (p.cta = 0; p.cta < t.s.ctas.size(); ++p.cta)
      if (mask >> p.cta & 1) signal(t, p, l, known);
  }
  return Status::next;
}

}  // namespace kiln::verifier::explore
