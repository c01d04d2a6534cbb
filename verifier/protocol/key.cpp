#include "verifier/protocol/key.hpp"

#include <algorithm>

namespace kiln::verifier::protocol {
namespace {

constexpr EventId gone = ~EventId{0};
constexpr std::uint64_t far = std::uint64_t{1} << 40;  // keeps distances positive

// Calls f(EventId&) for each event that a memory, a barrier or a queue refers to by itself.
template <class F>
void each_holder(State& s, F f) {
  for (Cta& cta : s.ctas) {
    const auto memory = [&](Intervals& m) {
      for (auto& [at, cell] : m) {
        for (Toucher& e : cell.writers) f(e.event);
        for (Toucher& e : cell.readers) f(e.event);
      }
    };
    memory(cta.shared);
    for (Intervals& block : cta.tensor) memory(block);
    for (auto& [at, b] : cta.mbarriers) f(b.completed), f(b.before);
  }
}

template <class F>
void each_set(State& s, F f) {
  const auto clock = [&](Clock& c) { f(c.seen), f(c.fenced), f(c.before); };
  for (Cta& cta : s.ctas) {
    for (auto& [at, b] : cta.mbarriers) clock(b.open), clock(b.published), f(b.observers);
    for (auto& [id, b] : cta.barriers) clock(b.open), clock(b.published);
    for (Warp& w : cta.warps) {
      for (Group& g : w.groups) clock(g.clock);
      for (auto& [lane, c] : w.copies) {
        f(c.open);
        for (EventSet& e : c.committed) f(e);
      }
      for (auto& [lane, e] : w.tensor) f(e);
      f(w.stores);
    }
  }
  clock(s.cluster.open), clock(s.cluster.published);
}

}  // namespace

void forget(State& s) {
  std::vector<EventId> number(s.events.size(), gone);
  std::vector<Event> kept{Event{}};
  number[0] = 0;
  const auto keep = [&](EventId e) {
    if (number[e] != gone) return;
    number[e] = EventId(kept.size());
    kept.push_back(s.events[e]);
  };
  each_holder(s, [&](EventId& e) { keep(e); });
  for (Cta& cta : s.ctas) {
    for (auto& [at, b] : cta.mbarriers) b.observers.each(keep);
    for (Warp& w : cta.warps)
      for (PendingLoad& p : w.loads) keep(p.event);
  }
  each_holder(s, [&](EventId& e) { e = number[e]; });
  each_set(s, [&](EventSet& e) { e = e.renumbered(number); });
  for (Cta& cta : s.ctas)
    for (Warp& w : cta.warps) {
      for (PendingLoad& p : w.loads) p.event = number[p.event];
      std::erase_if(w.parts, [&](const Part& p) { return number[p.event] == gone; });
      for (Part& p : w.parts) p.event = number[p.event];
    }
  s.events = std::move(kept);
}

namespace {

// Appends numbers to a key.
struct Writer {
  std::string text{};
  void put(std::uint64_t v) {
    do {
      text.push_back(char((v & 0x7F) | (v > 0x7F ? 0x80 : 0)));
      v >>= 7;
    } while (v);
  }
  void put(const EventSet& e) {
    e.each([&](EventId id) { put(id + 1); });
    put(0);
  }
  void put(const Clock& c) { put(c.seen), put(c.fenced), put(c.before); }
  void put(const Intervals& m) {
    for (const auto& [at, cell] : m) {
      put(at + 1), put(cell.end);
      for (const Toucher& e : cell.writers) put(e.event), put(e.lanes);
      put(0);
      for (const Toucher& e : cell.readers) put(e.event), put(e.lanes);
      put(0);
    }
    put(0);
  }
};

// A counter's distance from the least that is known of a bound that has no upper end.
class Registers {
 public:
  Registers(const State& s, const Program& p, Machine& m) : program_(p), machine_(m) {
    for (const auto& [word, range] : s.ranges)
      if (range.signed_most == std::int64_t(flow::low_mask(machine_.terms().width(word) - 1)) && range.least > 0)
        frontier_ = std::max(frontier_, range.least);
  }
  std::uint64_t frontier() const { return frontier_; }

  void put(Writer& out, const Fragment& f, ir::RegisterId r) const {
    const WordId word = f.words[program_.slot(r)];
    const flow::Demand demand = program_.demands.of(r);
    for (Mask m = f.lanes; m; m &= m - 1) {
      const flow::TermId t = machine_.words().at(word, std::countr_zero(m));
      const auto v = machine_.terms().value(t);
      if (!v) {
        if (const auto c = machine_.assumptions().comparison(t)) {
          out.put(1), out.put(c->word), out.put(c->number - frontier_ + far),
              out.put(c->equal | c->is_signed << 1 | c->word_is_first << 2 | c->opposite << 3);
        } else {
          out.put(2 * t + 3);
        }
      } else if (demand.bits == 0)
        out.put(2 * (*v - frontier_ + far));
      else
        out.put(2 * (*v & demand.bits));
      if (machine_.words().is_uniform(word)) break;
    }
  }

 private:
  const Program& program_;
  Machine& machine_;
  std::uint64_t frontier_ = 0;
};

void put(Writer& out, const Warp& w) {
  for (const Group& g : w.groups) out.put(g.lanes), out.put(g.clock);
  out.put(0);
  for (const Part& p : w.parts) out.put(p.event + 1), out.put(p.lanes), out.put(p.fenced);
  out.put(0);
  for (const auto& [lane, c] : w.copies) {
    out.put(std::uint64_t(lane)), out.put(c.open);
    for (const EventSet& e : c.committed) out.put(1), out.put(e);
    out.put(0);
  }
  for (const auto& [lane, e] : w.tensor) out.put(std::uint64_t(lane)), out.put(e);
  for (const PendingLoad& p : w.loads) out.put(p.event), out.put(p.registers.size());
  out.put(w.stores);
}

}  // namespace

std::string key(const State& s, const Program& program, Machine& machine) {
  Writer out;
  const Registers words(s, program, machine);
  for (const Cta& cta : s.ctas) {
    for (const Warp& w : cta.warps) {
      for (const Fragment& f : w.fragments) {
        out.put(f.lanes), out.put(f.at), out.put(f.arrived), out.put(std::uint64_t(f.wait.kind)), out.put(f.spun);
        for (const ir::RegisterId r : program.live(f.at)) words.put(out, f, r);
      }
      put(out, w);
    }
    for (const auto& [at, b] : cta.mbarriers) {
      out.put(at), out.put(b.phase & 1), out.put(b.expected), out.put(b.pending), out.put(std::uint64_t(b.tx));
      out.put(b.copies), out.put(b.open), out.put(b.published), out.put(b.completed), out.put(b.before),
          out.put(b.observers);
    }
    for (const auto& [id, b] : cta.barriers)
      out.put(id), out.put(b.generation & 1), out.put(b.arrived), out.put(b.open), out.put(b.published);
    out.put(cta.shared);
    for (const Intervals& block : cta.tensor) out.put(block);
    for (const auto& [at, a] : cta.allocations) out.put(at), out.put(a.columns);
    for (const auto& [at, stored] : cta.stored)
      for (const auto& [bytes, t] : stored) out.put(at), out.put(std::uint64_t(bytes)), out.put(t);
  }
  out.put(s.cluster.generation & 1), out.put(s.cluster.arrived), out.put(s.cluster.open), out.put(s.cluster.published);
  for (const auto& [p, v] : s.decided) out.put(p), out.put(v);
  for (const auto& [t, r] : s.ranges) {
    const bool open_ended = r.signed_most == std::int64_t(flow::low_mask(machine.terms().width(t) - 1));
    out.put(t), out.put(open_ended ? r.least - words.frontier() + far : r.least), out.put(r.most);
  }
  // What an event is matters as far as later judgements ask.
  for (const Event& e : s.events)
    out.put(std::uint64_t(e.operation ? program.code.index(*e.operation) + 1 : 0)), out.put(e.cta), out.put(e.warp),
        out.put(e.lanes);
  return std::move(out.text);
}

}  // namespace kiln::verifier::protocol
