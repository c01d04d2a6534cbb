#include "verifier/explore/key.hpp"

#include <algorithm>
#include <bit>

#include "verifier/explore/naming.hpp"

namespace kiln::verifier::explore {
namespace {

constexpr std::uint64_t words_a_step = 8;
constexpr std::uint64_t far = std::uint64_t{1} << 40;  // keeps distances positive

// Registers, counters by how far they are from the least that is known of what they are compared with where that has no
// upper end: its frontier.
class Registers {
 public:
  Registers(const State& s, const Program& p, Machine& m) : state_(s), program_(p), machine_(m), naming_(s, p, m) {}

  Naming& naming() { return naming_; }

  void put(Writer& out, const Fragment& f, ir::RegisterId r) {
    const WordId word = f.words[program_.slot(r)];
    fragment_ = &f;
    for (Mask m = f.lanes; m; m &= m - 1) {
      put_word(out, r, machine_.values().words().at(word, std::countr_zero(m)));
      if (machine_.values().words().is_uniform(word)) break;
    }
  }

 private:
  const State& state_;
  const Program& program_;
  Machine& machine_;
  Naming naming_;
  const Fragment* fragment_ = nullptr;

  std::uint64_t frontier(flow::TermId base) const {
    return machine_.rounds().frontier(state_, *fragment_, base).value_or(0);
  }

  void put_word(Writer& out, ir::RegisterId r, flow::TermId t) {
    const auto v = machine_.symbols().terms().value(t);
    const flow::Demand demand = program_.demands.of(r);
    if (v && demand.bits) out.put(4 * (*v & demand.bits));
    if (v && demand.modulus > 1) out.put(*v % demand.modulus);
    if (v && !demand.compared) return;
    const bool is_predicate = !v && machine_.symbols().terms().width(t) == 1;
    if (const auto holds = is_predicate ? machine_.symbols().assumptions().holds(state_, t) : std::nullopt)
      return out.put(4 * std::uint64_t{*holds});
    if (const auto c = machine_.symbols().assumptions().comparison(t))
      return out.put(1), naming_.put(out, c->word.base),
             out.put(c->word.base_at(c->number) - frontier(c->word.base) + far),
             out.put(c->equal | c->is_signed << 1 | c->word_is_first << 2 | c->opposite << 3 | c->word.negated << 4 |
                     c->word.cleared << 5),
             out.put(frontier(c->word.base) & flow::low_mask(c->word.cleared));
    if (!v && (demand.bits || demand.modulus > 1)) return out.put(5), naming_.put(out, t);
    // What the word is where its base is at its frontier.
    const Assumptions::Word split = machine_.symbols().assumptions().word(t);
    const int unused = 64 - machine_.symbols().terms().width(t);
    const auto word = std::int64_t(split.at(v ? 0 : frontier(split.base)) << unused) >> unused;
    const bool moves =
        !split.negated && program_.family(r) != Program::no_slot && put_distances(out, program_.family(r), word);
    if (!moves) out.put(4 * std::uint64_t(word) + 2);
    if (v) return;
    naming_.put(out, split.base), out.put(split.negated | split.cleared << 1);
    out.put(frontier(split.base) & flow::low_mask(split.cleared));
  }
  // Counters and bounds move along with the frontier when all else that they are compared with lies behind them.
  bool put_distances(Writer& out, std::uint32_t family, std::int64_t word) {
    const Program::Family& kin = program_.family_of(family);
    if (!kin.bounded || word <= kin.most) return false;
    bool any = false;
    for (const flow::TermId base : machine_.rounds().bases(family))
      if (const auto from = machine_.rounds().frontier(state_, *fragment_, base))
        out.put(3), naming_.put(out, base), out.put(std::uint64_t(word) - *from + far), any = true;
    return any;
  }
};

void put(Writer& out, const Warp& w) {
  for (const Group& g : w.groups) out.put(g.lanes);
  out.put(0);
  for (const Part& p : w.parts) out.put(p.event + 1), out.put(p.lanes), out.put(p.fenced);
  out.put(0);
  const auto copies = [&](int lane, const CopyGroups& c) {
    out.put(std::uint64_t(lane)), out.put(c.open);
    for (const EventSet& e : c.committed) out.put(1), out.put(e);
    out.put(0);
  };
  for (const auto& [lane, c] : w.copies) copies(lane, c);
  copies(lanes_per_warp, w.own_copies);
  for (const auto& [lane, queue] : w.tensor) out.put(std::uint64_t(lane));
  for (const auto& [lane, ends] : w.ended_phases) out.put(std::uint64_t(lane) + lanes_per_warp);
  for (const PendingLoad& p : w.loads) out.put(p.event), out.put(p.registers.size());
  out.put(w.stores);
}

// Where threads stand in their rounds.
void put_rounds(Writer& out, const State& s, const Fragment& f, Machine& machine, Naming& naming) {
  for (const auto& [bound, r] : f.rounds) {
    const auto from = machine.rounds().frontier(s, f, bound);
    out.put(1), naming.put(out, bound), out.put(r.number - machine.rounds().first_round(s, bound));
    for (const auto& [place, n] : r.numbers) out.put(place + 1), out.put(n ? *n - from.value_or(0) + far : 0);
    out.put(0);
  }
  out.put(0);
}

void put_domains(Writer& out, const State& s, Machine& machine, Naming& naming) {
  for (const auto& [bound, closed] : s.closed)
    if (closed)
      naming.put(out, bound), out.put(closed + 1 - std::min(closed + 1, machine.rounds().first_round(s, bound)));
  for (const auto& [t, domain] : s.domains) {
    if (naming.is_past(t)) continue;
    const auto r = machine.rounds().round_of(t);
    const auto rest = machine.symbols().assumptions().rest(t);
    const auto from = r ? machine.rounds().frontier(s, r->bound, r->round)
                        : machine.rounds().frontier(s, rest ? rest->of.base : t, 0);
    out.put(1), naming.put(out, r ? r->bound : t);
    if (r) out.put(r->round - std::min(r->round, machine.rounds().first_round(s, r->bound)));
    // Moving along with a bound keeps the low bits only where it moves by a multiple of them.
    if (rest) out.put(rest->bits), out.put(from.value_or(0) & flow::low_mask(rest->bits));
    // So it is with what else counts of its bits, where it may become a number that they are taken of.
    if (from && !r) {
      const flow::Demand parts = machine.rounds().parts(t);
      out.put(*from & flow::low_mask(64 - std::countl_zero(parts.bits))), out.put(*from % parts.modulus);
    }
    const std::uint64_t less = from && !rest ? *from : 0;
    for (const Span& p : domain.parts()) out.put(p.first - less), out.put(domain.value() ? p.last - less : p.last);
    out.put(0);
  }
}

}  // namespace

std::string key(const State& s, const Program& program, Machine& machine) {
  Writer out;
  Registers words(s, program, machine);
  for (const Cta& cta : s.ctas) {
    for (const Warp& w : cta.warps) {
      for (const Fragment& f : w.fragments) {
        out.put(f.lanes), out.put(f.at), out.put(f.arrived), out.put(std::uint64_t(f.wait.kind)), out.put(f.spun);
        for (const ir::RegisterId r : program.live(f.at)) words.put(out, f, r);
        put_rounds(out, s, f, machine, words.naming());
      }
      put(out, w);
    }
    for (const auto& [at, b] : cta.mbarriers) {
      out.put(at), out.put(b.phase & 1), out.put(b.expected), out.put(b.pending), out.put(std::uint64_t(b.tx));
      out.put(b.copies), out.put(b.completed), out.put(b.before), out.put(b.observers), out.put(b.init);
      for (const EventId e : b.users) out.put(e);
      out.put(0);
    }
    out.put(cta.started), out.put(cta.exited), out.put(cta.trapped), out.put(cta.frees);
    for (const auto& [id, b] : cta.barriers) {
      out.put(id), out.put(b.generation & 1), out.put(b.arrived);
      for (const std::vector<EventId>* list : {&b.arrivals, &b.last_arrivals}) {
        for (const EventId e : *list) out.put(e);
        out.put(0);
      }
    }
    out.put(cta.shared);
    for (const Intervals& block : cta.tensor) out.put(block);
    for (const auto& [at, a] : cta.allocations) out.put(at), out.put(a.columns);
    out.put(cta.tiles), out.put(cta.acquired_maps);
    for (const auto& [where, e] : cta.published_maps) out.put(where.first + 1), out.put(where.second), out.put(e);
    out.put(0);
    for (const auto& [at, sum] : cta.sums) out.put(at), sum.each([&](std::uint64_t v) { out.put(v); });
    for (const auto& [at, stored] : cta.stored)
      for (const auto& [bytes, t] : stored) {
        out.put(at), out.put(std::uint64_t(bytes)), words.naming().put(out, t);
        out.put(machine.rounds().frontier(s, machine.symbols().assumptions().word(t).base, 0).value_or(0));
      }
  }
  out.put(s.cluster.generation & 1), out.put(s.cluster.arrived);
  for (const auto& [p, v] : s.decided)
    if (!words.naming().is_past(p)) words.naming().put(out, p), out.put(v);
  put_domains(out, s, machine, words.naming());
  out.put(s.guessed);
  // What an event is matters as far as later judgements ask.
  for (const Event& e : s.events)
    out.put(std::uint64_t(e.operation ? program.code.index(*e.operation) + 1 : 0)), out.put(e.cta), out.put(e.warp),
        out.put(e.lanes);
  machine.budget().spend(words.naming().work() / words_a_step);  // words that grow in a loop take time here
  return out.take();
}

}  // namespace kiln::verifier::explore
