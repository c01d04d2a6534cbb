// When the memory of a CTA is there for others: not before they know that it has started, not before they know of an
// mbarrier's initialisation, and not behind its exit, which must know that they are done.
#include <algorithm>
#include <bit>

#include "ptx/isa/tensor_copy.hpp"
#include "ptx/rules/order.hpp"
#include "ptx/rules/tcgen05_alloc.hpp"
#include "verifier/explore/machine.hpp"

namespace kiln::verifier::explore {
namespace {

using isa::Opcode;

std::string name_of(std::uint32_t cta) { return "CTA " + std::to_string(cta) + " of the cluster"; }

// What the lane knows that speaks for all.
const Clock* clock_of(const Warp& w, int lane) {
  for (const Group& g : w.groups)
    if (g.lanes >> lane & 1) return &g.clock;
  return nullptr;
}

}  // namespace

// Each CTA knows that it has started itself, and tells others whatever it tells them.
void Machine::start_ctas(State& s) {
  for (std::uint32_t c = 0; c < s.ctas.size() && s.ctas.size() > 1; ++c) {
    s.ctas[c].started = s.add({nullptr, c});
    for (Warp& w : s.ctas[c].warps)
      for (Group& g : w.groups) g.clock.seen.add(s.ctas[c].started), g.clock.published.add(s.ctas[c].started);
  }
}

// Something is done to the memory or an mbarrier of a CTA, or together with it.
void Machine::use_remote(const Turn& t, std::uint32_t cta) {
  if (cta == t.cta_index) return;
  const Clock* known = clock_of(t.warp, t.leader());
  const EventId started = t.s.ctas[cta].started;
  if (known && !known->seen.has(started) && !known->published.has(started))
    breach(rules::cluster_start(false), t.op, nullptr, name_of(cta) + ", whose start is not known here");
  if (t.s.ctas[cta].exited)
    breach(rules::cta_exit(false), t.op, nullptr, "an access to " + name_of(cta) + ", which has exited");
}

// The same for bytes; most accesses are to the CTA's own.
void Machine::use_memory(const Turn& t, const Intervals& memory) {
  for (std::uint32_t c = 0; c < t.s.ctas.size() && t.s.ctas.size() > 1; ++c) {
    const Cta& cta = t.s.ctas[c];
    const bool is_tensor = !cta.tensor.empty() && &memory >= &cta.tensor.front() && &memory <= &cta.tensor.back();
    if (&cta.shared == &memory || is_tensor) return use_remote(t, c);
  }
}

// Remote arrivals touch the mbarrier: of one thread and instruction the latest stands for all.
EventId Machine::note_arrival(Turn& t, std::uint32_t cta, std::uint32_t address, Mask lanes, bool is_async) {
  if (cta == t.cta_index) return 0;
  use_remote(t, cta);
  const EventId id = t.s.add({&t.op, t.cta_index, t.warp_index, lanes, Proxy::generic, is_async, true});
  std::vector<EventId>& users = barrier_at(t, cta, address).users;
  std::erase_if(users, [&](EventId e) {
    const Event& old = t.s.events[e];
    return old.operation == &t.op && old.cta == t.cta_index && old.warp == t.warp_index && old.lanes == lanes;
  });
  users.push_back(id);
  return id;
}

// Whoever uses an mbarrier must be ordered behind its initialisation; an asynchronous use needs it published.
void Machine::check_init(const Turn& t, const Barrier& b, bool is_async) {
  const Clock* known = clock_of(t.warp, t.leader());
  if (b.init == 0 || !known) return;
  const Event& init = t.s.events[b.init];
  const bool published = known->published.has(b.init) || known->fenced.has(b.init);
  const bool seen = published || known->seen.has(b.init), met = seen || known->met.has(b.init);
  const auto find = [&](const rules::Verdict& v, const char* got) {
    breach({v, &t.op, init.operation, got, {}, "it is initialised here", {}});
  };
  if (!met) return find(rules::mbarrier_init_order(false), "an mbarrier whose initialisation is not known here");
  if (!seen) find(rules::mbarrier_init_fence(false), "an mbarrier behind a relaxed barrier");
  if (seen && is_async && !published) find(rules::mbarrier_init_fence(false), "an asynchronous use of the mbarrier");
}

// fence.mbarrier_init: the initialisations that these threads have made.
void Machine::publish(Turn& t) {
  for (const Cta& cta : t.s.ctas)
    for (const auto& [at, b] : cta.mbarriers) {
      const Event& init = t.s.events[b.init];
      const bool own = b.init && init.cta == t.cta_index && init.warp == t.warp_index && (init.lanes & ~t.lanes) == 0;
      if (!own) continue;
      for (Group& g : t.warp.groups)
        if (g.lanes & init.lanes) g.clock.published.add(b.init);
    }
}

// The last thread of a CTA is gone. Its own accesses are over; asynchronous ones and those of others it must know to
// be.
void Machine::exit_cta(State& s, std::uint32_t index) {
  Cta& cta = s.ctas[index];
  cta.exited = true;
  if (cta.trapped) return;
  for (const auto& [at, a] : cta.allocations)
    breach(rules::step(rules::AllocState{a.columns}, rules::AllocEvent::exit).verdict, *a.operation);
  EventSet known;
  for (Warp& w : cta.warps) known.join(w.released(all_lanes).seen);
  const auto judge = [&](EventId id) {
    const Event& e = s.events[id];
    if (e.may_be || !e.operation || known.has(id) || (e.cta == index && !e.is_async)) return;
    const bool own_copy = e.cta == index && isa::is_bulk_copy(e.operation->opcode);
    breach(own_copy ? rules::cta_exit_copy(false) : rules::cta_exit(false), *e.operation, nullptr,
           "the exit of " + name_of(index) + ", which does not know that this is done");
  };
  for (const auto& [at, cell] : cta.shared)
    for (const auto* list : {&cell.writers, &cell.readers})
      for (const Toucher& e : *list) judge(e.event);
  for (const auto& [at, b] : cta.mbarriers)
    for (const EventId e : b.users) judge(e);
}

}  // namespace kiln::verifier::explore
