#include "verifier/explore/join.hpp"

#include <algorithm>

#include "verifier/explore/memory.hpp"

namespace kiln::verifier::explore {
namespace {

class Join {
 public:
  Join(State& s, std::array<State, 2>& ways, const Parting& p, const Program& program, const Words& words)
      : s_(s), a_(ways[0]), b_(ways[1]), parting_(p), program_(program), words_(words) {}

  bool is_possible() const {
    const Fragment *a = fragment(a_), *b = fragment(b_);
    if (!a || !b || !(a->rounds == b->rounds)) return false;
    for (const ir::RegisterId r : program_.live(parting_.meet)) {
      const WordId x = a->words[program_.slot(r)], y = b->words[program_.slot(r)];
      for (const int l : Lanes(x == y ? 0 : parting_.lanes))
        if (words_.at(x, l) != words_.at(y, l)) return false;
    }
    for (std::size_t c = 0; c < s_.ctas.size(); ++c)
      if (a_.ctas[c].tiles != b_.ctas[c].tiles || has_lost_flags(a_, c) || has_lost_flags(b_, c)) return false;
    return true;
  }

  void join() {
    add_events();
    for (std::size_t c = 0; c < s_.ctas.size(); ++c) {
      Cta &cta = s_.ctas[c], &a = a_.ctas[c], &b = b_.ctas[c];
      join_memory(a.shared, b.shared), cta.shared = std::move(a.shared);
      for (std::size_t k = 0; k < cta.tensor.size(); ++k) join_memory(a.tensor[k], b.tensor[k]);
      cta.tensor = std::move(a.tensor);
      cta.unknown = common(a.unknown, b.unknown);
      cta.stored = common(a.stored, b.stored);
      cta.tiles = a.tiles;
    }
    s_.unknown = common(a_.unknown, b_.unknown);
    Warp &warp = warp_of(s_), &a = warp_of(a_), &b = warp_of(b_);
    // What does not count any more where the ways meet is what it was.
    Fragment& f = *std::find_if(warp.fragments.begin(), warp.fragments.end(),
                                [&](const Fragment& x) { return x.lanes == parting_.lanes; });
    f.words = fragment(a_)->words, f.rounds = fragment(a_)->rounds;
    f.at = parting_.meet, f.wait = {}, f.undecided = no_branch;
    join_groups(warp, a, b);
    join_parts(warp, a, b);
    join_pending(warp, a, b);
  }

 private:
  Warp& warp_of(State& s) const { return s.ctas[parting_.cta].warps[parting_.warp]; }
  const Fragment* fragment(const State& s) const {
    for (const Fragment& f : s.ctas[parting_.cta].warps[parting_.warp].fragments)
      if (f.lanes == parting_.lanes && f.at == parting_.meet) return &f;
    return nullptr;
  }
  // A plain store to a flag has made it a word like others.
  bool has_lost_flags(const State& way, std::size_t cta) const {
    return way.ctas[cta].flags.size() != s_.ctas[cta].flags.size();
  }
  // Events of the second way get numbers after those of the first.
  EventId renumbered(EventId e) const { return e < before_ ? e : EventId(e + shift_); }
  void depends(EventId e) {
    if (e) s_.events[e].decider = parting_.branch;
  }
  void add_events() {
    before_ = EventId(s_.events.size());
    shift_ = EventId(a_.events.size()) - before_;
    for (const State* way : {&a_, &b_})
      s_.events.insert(s_.events.end(), way->events.begin() + before_, way->events.end());
    for (EventId e = before_; e < s_.events.size(); ++e) depends(e);
  }

  // Both ways have the same cells or finer ones.
  void join_memory(Common<Intervals>& all, const Common<Intervals>& other) {
    if (all.is(other)) return;
    Intervals& a = all.change();
    for (const auto& [at, cell] : *other) {
      const auto found = a.find(at);
      if (found != a.end() && found->second.end == cell.end && found->second.writers == cell.writers &&
          found->second.readers == cell.readers)
        continue;
      Memory::for_cells(a, at, cell.end, [&, &other = cell](Cell& c) {
        unite(c.writers, other.writers), unite(c.readers, other.readers);
      });
    }
  }
  void unite(Touches& a, const Touches& b) {
    const auto find = [](auto& list, EventId e) {
      return std::find_if(list.begin(), list.end(), [&](const Touch& t) { return t.event == e; });
    };
    for (Touch& t : a)
      if (t.event >= before_ || find(b, t.event) == b.end()) t.decider = parting_.branch;
    for (Touch t : b) {
      const auto found = t.event < before_ ? find(a, t.event) : a.end();
      if (found != a.end() && *found == t) continue;
      t.event = renumbered(t.event), t.decider = parting_.branch;
      if (found == a.end())
        a.push_back(t);
      else
        found->lanes |= t.lanes, found->decider = parting_.branch;
    }
  }

  template <class Map>
  static Map common(const Map& a, const Map& b) {
    Map out;
    for (const auto& entry : a)
      if (const auto found = b.find(entry.first); found != b.end() && found->second == entry.second) out.insert(entry);
    return out;
  }

  // Calls f(EventId) for the events of a set that are new on its way, as the joined state names them.
  template <class F>
  void each_new(const EventSet& a, const EventSet& b, F f) const {
    a.each([&](EventId e) { e >= before_ ? f(e) : void(); });
    b.each([&](EventId e) { e >= before_ ? f(renumbered(e)) : void(); });
  }
  EventSet known(const EventSet& a, const EventSet& b) {
    if (a == b && shift_ == 0) return a;
    EventSet out = a;
    out.meet(b);
    a.each([&](EventId e) { e < before_ && !b.has(e) ? depends(e) : void(); });
    b.each([&](EventId e) { e < before_ && !a.has(e) ? depends(e) : void(); });
    EventSet old;
    out.each([&](EventId e) { e < before_ ? old.add(e) : void(); });
    each_new(a, b, [&](EventId e) { old.add(e); });
    return old;
  }
  EventSet either(const EventSet& a, const EventSet& b) const {
    EventSet out;
    for (const EventSet* x : {&a, &b}) x->each([&](EventId e) { e < before_ ? out.add(e) : void(); });
    each_new(a, b, [&](EventId e) { out.add(e); });
    return out;
  }

  void join_groups(Warp& warp, const Warp& a, const Warp& b) {
    warp.groups.clear();
    for (const Group& x : a.groups)
      for (const Group& y : b.groups) {
        if (!(x.lanes & y.lanes)) continue;
        Group g;
        g.lanes = x.lanes & y.lanes;
        for (const auto set : Clock::sets) g.clock.*set = known(x.clock.*set, y.clock.*set);
        g.tensor_fenced = known(x.tensor_fenced, y.tensor_fenced);
        g.tensor_arrived = known(x.tensor_arrived, y.tensor_arrived);
        warp.groups.push_back(std::move(g));
      }
  }

  // Parts of an event that the warp knows as a whole on one way are known as those of the other.
  void join_parts(Warp& warp, const Warp& a, const Warp& b) {
    warp.parts = a.parts;
    for (Part p : b.parts) {
      const auto found = p.event < before_ ? std::find_if(warp.parts.begin(), warp.parts.end(),
                                                          [&](const Part& x) { return x.event == p.event; })
                                           : warp.parts.end();
      if (found != warp.parts.end()) {
        if (found->lanes != p.lanes || found->fenced != p.fenced) depends(p.event);
        found->lanes &= p.lanes, found->fenced &= p.fenced;
        continue;
      }
      p.event = renumbered(p.event);
      warp.parts.push_back(p);
    }
  }

  // What is not over on one way is not over.
  void join_pending(Warp& warp, const Warp& a, const Warp& b) {
    warp.stores = either(a.stores, b.stores);
    warp.loads.clear();
    for (const Warp* way : {&a, &b})
      for (PendingLoad p : way->loads) {
        if (way == &b) p.event = renumbered(p.event);
        const auto found = std::find_if(warp.loads.begin(), warp.loads.end(),
                                        [&](const PendingLoad& x) { return x.event == p.event; });
        if (found == warp.loads.end()) {
          warp.loads.push_back(std::move(p));
          continue;
        }
        for (const ir::RegisterId r : p.registers)
          if (std::find(found->registers.begin(), found->registers.end(), r) == found->registers.end())
            found->registers.push_back(r);
      }
    std::sort(warp.loads.begin(), warp.loads.end(),
              [](const PendingLoad& x, const PendingLoad& y) { return x.event < y.event; });
  }

  State& s_;
  State &a_, &b_;
  const Parting& parting_;
  const Program& program_;
  const Words& words_;
  EventId before_ = 0, shift_ = 0;
};

}  // namespace

bool join(State& s, std::array<State, 2>& ways, const Parting& p, const Program& program, const Words& words) {
  Join both(s, ways, p, program, words);
  if (!both.is_possible()) return false;
  both.join();
  return true;
}

}  // namespace kiln::verifier::explore
