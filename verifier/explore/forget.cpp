// What a state need not keep: events that nothing refers to, assumptions about words that no register holds, and all
// but one of several events that are alike.
#include <algorithm>
#include <optional>
#include <tuple>

#include "ptx/isa/tmem.hpp"
#include "verifier/explore/key.hpp"

namespace kiln::verifier::explore {
namespace {

constexpr EventId gone = ~EventId{0};

// Calls f(Intervals&) for each memory.
template <class F>
void each_memory(State& s, F f) {
  for (Cta& cta : s.ctas) {
    f(cta.shared.change());
    for (Common<Intervals>& block : cta.tensor) f(block.change());
  }
}

// Calls f(EventId&) for each event that a barrier or a CTA refers to by itself.
template <class F>
void each_reference(State& s, F f) {
  for (Cta& cta : s.ctas) {
    f(cta.started), f(cta.acquired_maps);
    for (auto& [where, e] : cta.published_maps) f(e);
    for (auto& [id, b] : cta.barriers)
      for (std::vector<EventId>* list : {&b.arrivals, &b.last_arrivals})
        for (EventId& e : *list) f(e);
    for (auto& [at, flag] : cta.flags)
      for (FlagWrite& w : flag.writes) f(w.event);
    for (auto& [at, b] : cta.mbarriers) {
      f(b.completed), f(b.before), f(b.init);
      for (RemoteUse& use : b.users) f(use.arrival), f(use.issue);
    }
  }
}

// Calls f(EventId&) for each event that a memory refers to.
template <class F>
void each_touch(State& s, F f) {
  each_memory(s, [&](Intervals& m) {
    for (auto& [at, cell] : m)
      for (Touches* list : {&cell.writers, &cell.readers})
        for (Touch& t : *list) f(t.event);
  });
}

// Calls f(EventId&) for each load that is not over, and each event of which a warp knows parts.
template <class F>
void each_pending(State& s, F f) {
  each_warp(s, [&](Warp& w) {
    for (PendingLoad& p : w.loads) f(p.event);
    for (Part& p : w.parts) f(p.event);
  });
}

template <class F>
void each_set(State& s, F f) {
  each_known(s, f);
  for (Cta& cta : s.ctas)
    for (auto& [at, b] : cta.mbarriers) f(b.observers);
  each_warp(s, [&](Warp& w) {
    const auto copies = [&](CopyGroups& c) { f(c.open), std::for_each(c.committed.begin(), c.committed.end(), f); };
    for (auto& [lane, c] : w.copies) copies(c);
    copies(w.own_copies), copies(w.wgmma), f(w.stores);
  });
}

// When no register holds a word out of memory or a parameter any more, what is assumed of it does not matter: the loop
// that it bounded may have had any count.
void forget_words(State& s, Machine& machine) {
  // No thread reads any more what the launch gives.
  const std::uint32_t loaded = machine.program().after_parameters();
  const bool all_loaded = !any_fragment(s, [&](const Fragment& f) { return f.at < loaded; });
  if (!machine.symbols().has_fresh() && !all_loaded) return;
  std::set<flow::TermId> held;
  machine.values().each_word(s, [&](flow::TermId t) {
    const std::set<flow::TermId>& pieces = machine.symbols().evaluator().pieces(t);
    held.insert(pieces.begin(), pieces.end());
  });
  // Only for as long as a register holds a word does it matter that another load finds the same.
  const auto forget = [&](Unknowns& among) {
    std::erase_if(among, [&](const auto& u) { return !held.contains(u.second); });
  };
  forget(s.unknown);
  for (Cta& cta : s.ctas) forget(cta.unknown);
  const auto all_pieces = [&](flow::TermId t, const auto& are) {
    const std::set<flow::TermId>& pieces = machine.symbols().evaluator().pieces(t);
    return std::all_of(pieces.begin(), pieces.end(), are);
  };
  const auto is_lost = [&](flow::TermId piece) {
    return !held.contains(piece) &&
           (all_loaded || machine.symbols().is_fresh(piece) || !machine.symbols().evaluator().is_leaf(piece));
  };
  const auto is_gone = [&](flow::TermId t) {
    return all_pieces(t, [&](flow::TermId piece) {
      const auto round = machine.rounds().round_of(piece);
      return round ? all_pieces(round->bound, is_lost) : is_lost(piece);
    });
  };
  std::erase_if(s.closed, [&](const auto& closed) {
    const bool gone = is_gone(closed.first);
    if (gone) each_fragment(s, [&](Fragment& f) { f.rounds.erase(closed.first); });
    return gone;
  });
  std::erase_if(s.domains, [&](const auto& d) { return is_gone(d.first); });
  std::erase_if(s.decided, [&](const auto& d) { return is_gone(d.first); });
}

// Forgets writes of flags that their readers do not read any more, and which of the others loops have read: one reads
// the latest that it knows again.
void forget_writes(State& s) {
  each_fragment(s, [](Fragment& f) { f.poll = {}; });
  const auto is_past = [&](const Flag& flag) {
    return !flag.readers.empty() && std::all_of(flag.readers.begin(), flag.readers.end(), [&](const auto& reader) {
      const auto& [where, lanes] = reader;
      return s.ctas[where.first].warps[where.second].all_have(lanes, &Clock::seen, flag.writes[1].event);
    });
  };
  for (Cta& cta : s.ctas)
    for (auto& [at, flag] : cta.flags)
      while (flag.writes.size() > 1 && is_past(flag)) flag.writes.erase(flag.writes.begin()), ++flag.first;
}

// Forgets events that nothing refers to, and numbers the others by where they are found.
void number_events(State& s) {
  std::vector<EventId> number(s.events.size(), gone);
  std::vector<Event> kept{Event{}};
  number[0] = 0;
  const auto keep = [&](EventId e) {
    if (number[e] != gone) return;
    number[e] = EventId(kept.size());
    kept.push_back(s.events[e]);
  };
  each_touch(s, keep), each_reference(s, keep);
  for (Cta& cta : s.ctas)
    for (auto& [at, b] : cta.mbarriers) b.observers.each(keep);
  each_warp(s, [&](Warp& w) {
    for (const PendingLoad& p : w.loads) keep(p.event);
  });
  each_warp(s, [&](Warp& w) { std::erase_if(w.parts, [&](const Part& p) { return number[p.event] == gone; }); });
  const auto renumber = [&](EventId& e) { e = number[e]; };
  each_touch(s, renumber), each_reference(s, renumber), each_pending(s, renumber);
  each_set(s, [&](EventSet& e) { e = e.renumbered(number); });
  s.events = std::move(kept);
}

// Forgets what rules cannot ask for. They ask whether a phase is over, whether an access is over for a thread, and
// which threads have been told of an mbarrier's initialisation and of a CTA's start.
void forget_knowledge(State& s) {
  EventSet phases, accesses, fenced, tensor, published, maps, reads;
  const auto ask = [&](EventId e) { accesses.add(e); };
  each_touch(s, ask), each_pending(s, ask);
  for (Cta& cta : s.ctas) {
    published.add(cta.started);
    ask(cta.acquired_maps);
    for (const auto& [where, e] : cta.published_maps) maps.add(e);
    for (const auto& [at, flag] : cta.flags)
      for (const FlagWrite& w : flag.writes) ask(w.event);
    for (const auto& [id, b] : cta.barriers)
      for (const std::vector<EventId>* list : {&b.arrivals, &b.last_arrivals})
        for (const EventId e : *list) ask(e);
    for (const auto& [at, b] : cta.mbarriers) {
      phases.add(b.completed), phases.add(b.before), phases.join(b.observers);
      published.add(b.init);
      for (const RemoteUse& use : b.users) ask(use.arrival), ask(use.issue);
    }
  }
  accesses.each([&](EventId e) {
    if (s.events[e].proxy == Proxy::tensor_memory) tensor.add(e);
    if (s.events[e].proxy == Proxy::generic) fenced.add(e);
    if (s.events[e].is_async && !s.events[e].writes) reads.add(e);
  });
  accesses.join(published), accesses.join(maps), fenced.join(published);
  each_clock(s, [&](Clock& c) {
    c.seen.meet(accesses), c.handed.meet(accesses), c.handed_wide.meet(accesses), c.past.meet(phases),
        c.fenced.meet(fenced);
    c.published.meet(published), c.met.meet(published), c.tensor.meet(tensor), c.maps.meet(maps);
    c.ended.meet(reads);
  });
  each_warp(s, [&](Warp& w) {
    for (Group& g : w.groups) g.tensor_fenced.meet(tensor), g.tensor_arrived.meet(tensor);
  });
}

// If all live threads already know an event, barriers need not carry it. All barriers get it, so that states that
// differ only in which barriers carry it are the same.
void tell_common(State& s) {
  std::optional<Clock> common;
  EventSet observers;
  for (const Cta& cta : s.ctas) {
    for (const auto& [at, b] : cta.mbarriers) observers.join(b.observers);
    for (const Warp& w : cta.warps) {
      Mask live = 0;
      for (const Fragment& f : w.fragments) live |= f.lanes;
      for (const Group& g : w.groups) {
        if (!(g.lanes & live)) continue;
        Clock known = g.clock;
        known.tensor = g.tensor_arrived;
        if (common)
          common->meet(known);
        else
          common = std::move(known);
      }
    }
  }
  if (!common) return;
  common->past.remove(observers);  // a thread may have arrived before it knew that others had seen the phase before
  each_barrier(s, [&](auto& b) { b.open.join(*common), b.published.join(*common); });
  for (Cta& cta : s.ctas)
    for (auto& [at, flag] : cta.flags)
      for (FlagWrite& w : flag.writes) w.near.join(*common), w.wide.join(*common);
}

// Whether a warp knows an access of its lanes as a whole: none of them has a part of its own.
bool is_whole(const State& s, EventId e) {
  const Event& event = s.events[e];
  if (event.proxy != Proxy::generic || event.is_async || !event.operation) return false;
  const Warp& w = s.ctas[event.cta].warps[event.warp];
  return std::all_of(w.groups.begin(), w.groups.end(), [&](const Group& g) { return g.clock.seen.has(e); }) &&
         std::none_of(w.parts.begin(), w.parts.end(), [&](const Part& p) { return p.event == e; });
}

// Whether it is of no consequence any more by which instruction a warp has stored: what threads store by one
// instruction is not judged among them (memory.cpp), but all that may execute this one know that the store is over.
bool is_settled_store(const State& s, EventId e, const Program& program) {
  const Event& event = s.events[e];
  if (!event.writes || !is_whole(s, e)) return false;
  if (event.operation->opcode != isa::Opcode::st || order::is_strong(*event.operation)) return false;
  const std::uint32_t warps = program.facts.uniformity.warps_at(program.code.index(*event.operation));
  const isa::Space space = event.operation->modifiers.space();
  const bool is_within_cta = space == isa::Space::shared || space == isa::Space::shared_cta;
  for (std::uint32_t c = 0; c < s.ctas.size(); ++c)
    for (std::size_t i = 0; i < s.ctas[c].warps.size(); ++i) {
      const Warp& w = s.ctas[c].warps[i];
      if (w.fragments.empty() || (i < 32 && !(warps >> i & 1)) || (is_within_cta && c != event.cta)) continue;
      if (!w.all_have(all_lanes, &Clock::seen, e)) return false;
    }
  return true;
}

// What rules ask of an access, except which threads know of it. Its place in the code counts too, except for the many
// loads and stores that move a block of tensor memory, and for stores that are settled.
auto nature(const Event& e) {
  const ir::Operation& op = *e.operation;
  const bool is_many =
      isa::is_tensor_load(op.opcode) || op.opcode == isa::Opcode::tcgen05_st || e.proxy == Proxy::generic;
  return std::tuple(is_many ? nullptr : &op, op.opcode, e.cta, e.warp, e.lanes, e.proxy, e.is_async, e.writes,
                    e.is_uncertain, e.decider);
}

// By event, the first event that is like it. Asynchronous accesses of one nature that the same threads know of are
// alike, and so are stores that are settled.
std::vector<EventId> alike(State& s, const Program& program) {
  std::vector<bool> is_one(s.events.size(), true);  // of its kind
  for (EventId e = 1; e < s.events.size(); ++e)
    is_one[e] = s.events[e].proxy == Proxy::generic && !is_settled_store(s, e, program);
  const auto keep = [&](EventId e) { is_one[e] = true; };
  each_reference(s, keep), each_pending(s, keep);
  std::vector<EventId> kind(s.events.size());
  std::map<decltype(nature(s.events[0])), EventId> kinds;
  for (EventId e = 0; e < kind.size(); ++e)
    kind[e] = is_one[e] ? e : kinds.try_emplace(nature(s.events[e]), e).first->second;
  // Each set of events splits a kind into those that it has and those that it does not have.
  std::vector<EventId> inside(kind.size()), of(kind.size());
  EventId kinds_so_far = EventId(kind.size()), before = kinds_so_far;
  each_set(s, [&](const EventSet& set) {
    before = kinds_so_far;
    set.each([&](EventId e) {
      if (is_one[e]) return;
      if (inside.size() <= kind[e]) inside.resize(kinds_so_far + kind.size());
      EventId& now = inside[kind[e]];
      if (now < before) now = kinds_so_far++;
      kind[e] = now;
    });
  });
  std::vector<EventId> first(kinds_so_far, gone);
  for (EventId e = 0; e < kind.size(); ++e) of[e] = first[kind[e]] = std::min(first[kind[e]], e);
  return of;
}

// Each lane knows its own part of a write by several lanes. Once the warp knows the whole write, all lanes count as its
// writers.
void unite_lanes(State& s) {
  std::vector<bool> whole(s.events.size());
  for (EventId e = 1; e < whole.size(); ++e) whole[e] = is_whole(s, e);
  for (Cta& cta : s.ctas)
    for (auto& [at, cell] : cta.shared.change())
      for (Touch& t : cell.writers)
        if (whole[t.event]) t.lanes = s.events[t.event].lanes;
}

// The first in the code of several accesses that are alike stands for all of them, and for all that they touched.
void unite_alike(State& s, const Program& program) {
  const std::vector<EventId> first = alike(s, program);
  bool any = false;
  for (EventId e = 1; e < first.size(); ++e) {
    any |= first[e] != e;
    const ir::Operation*& operation = s.events[first[e]].operation;
    operation = std::min(operation, s.events[e].operation);
  }
  const auto unite = [&](Touches& list) {
    for (Touch& t : list) t.event = first[t.event];
    for (auto it = list.begin(); it != list.end();)
      it = std::find(list.begin(), it, *it) != it ? list.erase(it) : std::next(it);
  };
  each_memory(s, [&](Intervals& m) {
    auto last = m.end();
    for (auto it = m.begin(); it != m.end();) {
      Cell& cell = it->second;
      unite(cell.writers), unite(cell.readers);
      const bool goes_on = last != m.end() && last->second.end == it->first && last->second.writers == cell.writers &&
                           last->second.readers == cell.readers;
      if (goes_on) last->second.end = cell.end;
      last = goes_on ? last : it;
      it = goes_on ? m.erase(it) : std::next(it);
    }
  });
  if (any) number_events(s);
}

}  // namespace

void forget(State& s, Machine& machine) {
  machine.rounds().settle(s);
  forget_words(s, machine);
  forget_writes(s);
  number_events(s);
  forget_knowledge(s);
  tell_common(s);
  unite_lanes(s);
  unite_alike(s, machine.program());
}

}  // namespace kiln::verifier::explore
