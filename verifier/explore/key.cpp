#include "verifier/explore/key.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace kiln::verifier::explore {
namespace {

using flow::TermId;

// A key under construction.
class Writer {
 public:
  void put(std::uint64_t v) {
    do {
      text_.push_back(char((v & 0x7F) | (v > 0x7F ? 0x80 : 0)));
      v >>= 7;
    } while (v);
  }
  void put(const EventSet& e) {
    e.each([&](EventId id) { put(id + 1); });
    put(0);
  }
  void put(const Intervals& m) {
    for (const auto& [at, cell] : m) {
      put(at + 1), put(cell.end);
      for (const Touch& e : cell.writers) put(e.event), put(e.lanes);
      put(0);
      for (const Touch& e : cell.readers) put(e.event), put(e.lanes);
      put(0);
    }
    put(0);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_{};
};

// Names for words that states which are alike have in common. A word out of memory counts by where it is found. A
// counter that starts at one unknown word and grows by another counts by how far it is ahead of the last counter.
class Naming {
 public:
  Naming(const State& s, Values& values) : state_(s), symbols_(values.symbols()) {
    values.each_word(s, [&](TermId t) {
      const auto p = place(t);
      if (!p) return;
      const auto [found, is_new] = last_.try_emplace({p->start, p->step}, p->n);
      found->second = std::min(found->second, p->n);
    });
  }

  void put(Writer& out, TermId t) {
    if (is_plain(t)) return out.put(1), out.put(t);
    // A term that was written before is named by its number.
    const auto [said, is_new] = said_.try_emplace(t, said_.size());
    if (!is_new) return out.put(5), out.put(said->second);
    const flow::Terms::Sum& sum = terms_.sum(t);
    if (const auto p = place(t)) {
      const auto last = last_.find({p->start, p->step});
      if (last != last_.end())
        return out.put(4), out.put(p->start), out.put(p->step), out.put(std::uint64_t(p->n - last->second));
    }
    out.put(2), out.put(sum.parts.size()), out.put(sum.number);
    for (const flow::Terms::Part& part : sum.parts) out.put(part.factor), put_atom(out, part.atom);
  }
  // The predicate or word is about a counter's place that all counters have passed: it is not asked for again.
  bool is_past(TermId t) {
    if (last_.empty()) return false;
    if (const auto p = place(t)) {
      const auto last = last_.find({p->start, p->step});
      if (last != last_.end()) return p->n < last->second;
    }
    const auto [known, is_new] = past_.try_emplace(t, false);
    if (!is_new) return known->second;
    bool past = false;
    for (const flow::Terms::Part& part : terms_.sum(t).parts)
      for (const TermId o : terms_.atom_of(part.atom)->operands) past |= is_past(o);
    return past_[t] = past;
  }
  // The place of the last of the counters that start at a word, if there are any and all grow by one step.
  std::optional<std::int64_t> last_place(TermId start) const {
    const auto first = last_.lower_bound({start, 0}), end = last_.lower_bound({start + 1, 0});
    return first != end && std::next(first) == end ? std::optional(first->second) : std::nullopt;
  }
  // Words that have been looked into.
  std::uint64_t work() const { return plain_.size() + past_.size(); }

 private:
  // Counters of a closed round only: no thread comes with a new counter any more.
  std::optional<Assumptions::Place> place(TermId t) const {
    const auto p = symbols_.assumptions().place(t);
    const auto closed = p ? state_.closed.find(p->start) : state_.closed.end();
    return closed != state_.closed.end() && closed->second ? p : std::nullopt;
  }
  bool is_plain(TermId t) {
    const auto [found, is_new] = plain_.try_emplace(t, true);
    if (!is_new) return found->second;
    const auto p = place(t);
    bool plain = !p || !last_.contains({p->start, p->step});
    for (const flow::Terms::Part& part : std::vector(terms_.sum(t).parts)) {
      plain &= !symbols_.is_fresh(part.atom);
      for (const TermId o : terms_.atom_of(part.atom)->operands) plain &= is_plain(o);
    }
    return plain_[t] = plain;
  }
  void put_atom(Writer& out, TermId atom) {
    if (symbols_.is_fresh(atom)) return out.put(3), out.put(fresh_.try_emplace(atom, fresh_.size()).first->second);
    if (is_plain(atom)) return out.put(1), out.put(atom);
    const flow::Terms::Atom& a = *terms_.atom_of(atom);
    out.put(2), out.put(a.name);
    for (const TermId o : a.operands) put(out, o);
  }

  const State& state_;
  Symbols& symbols_;
  flow::Terms& terms_ = symbols_.terms();
  std::map<std::pair<TermId, TermId>, std::int64_t> last_{};  // the place of the last counter
  std::map<TermId, std::uint64_t> fresh_{}, said_{};
  std::map<TermId, bool> plain_{}, past_{};
};

constexpr std::uint64_t words_a_step = 8;
constexpr std::uint64_t far = std::uint64_t{1} << 40;  // keeps distances positive

// Registers. A counter counts by how far it is from the frontier of the word that it is compared with: the least number
// that this word may be, if it has no upper end.
class Registers {
 public:
  Registers(const State& s, Machine& m) : state_(s), machine_(m), naming_(s, m.values()) {}

  Naming& naming() { return naming_; }

  void put(Writer& out, const Fragment& f, ir::RegisterId r) {
    const WordId word = f.words[program_.slot(r)];
    fragment_ = &f;
    machine_.values().words().each(word, f.lanes, [&](TermId t) { put_word(out, r, t); });
  }

 private:
  const State& state_;
  Machine& machine_;
  const Program& program_ = machine_.program();
  Rounds& rounds_ = machine_.rounds();
  flow::Terms& terms_ = machine_.symbols().terms();
  Assumptions& assumptions_ = machine_.symbols().assumptions();
  Naming naming_;
  const Fragment* fragment_ = nullptr;

  std::uint64_t frontier(TermId base) const { return rounds_.frontier(state_, *fragment_, base).value_or(0); }

  void put_word(Writer& out, ir::RegisterId r, TermId t) {
    const auto v = terms_.value(t);
    const flow::Demand demand = program_.demands.of(r);
    if (v && demand.bits) out.put(4 * (*v & demand.bits));
    // Rests of negative words do not go round like those of others.
    if (v && demand.modulus > 1) out.put(*v >> (terms_.width(t) - 1) ? *v : *v % demand.modulus);
    if (v && !demand.compared) return;
    const bool is_predicate = !v && terms_.width(t) == 1;
    if (const auto holds = is_predicate ? assumptions_.holds(state_, t) : std::nullopt)
      return out.put(4 * std::uint64_t{*holds});
    if (const auto c = assumptions_.comparison(t))
      return out.put(1), naming_.put(out, c->word.base),
             out.put(c->word.base_at(c->number) - frontier(c->word.base) + far),
             out.put(c->equal | c->is_signed << 1 | c->word_is_first << 2 | c->opposite << 3 | c->word.negated << 4 |
                     c->word.cleared << 5),
             out.put(frontier(c->word.base) & flow::low_mask(c->word.cleared));
    if (!v && (demand.bits || demand.modulus > 1)) return out.put(5), naming_.put(out, t);
    // The word if its base is at its frontier.
    const Assumptions::Word split = assumptions_.word(t);
    const int unused = 64 - terms_.width(t);
    const auto word = std::int64_t(split.at(v ? 0 : frontier(split.base)) << unused) >> unused;
    const bool moves =
        !split.negated && program_.family(r) != Program::no_slot && put_distances(out, program_.family(r), word);
    // A word that no loop changes is the same sum of the bound wherever the frontier is: where a loop begins anew with
    // it, the bound is that of another round.
    const bool counts = v || !program_.is_written_once(r);
    if (!moves) out.put(4 * (counts ? std::uint64_t(word) : split.offset) + 2);
    if (v) return;
    naming_.put(out, split.base), out.put(split.negated | split.cleared << 1);
    out.put(frontier(split.base) & flow::low_mask(split.cleared));
  }
  // Counters and bounds move along with the frontier once they have passed all other numbers that they are compared
  // with.
  bool put_distances(Writer& out, std::uint32_t family, std::int64_t word) {
    const Program::Family& kin = program_.family_of(family);
    if (!kin.bounded || word <= kin.most) return false;
    bool any = false;
    for (const TermId base : rounds_.bases(family))
      if (const auto from = rounds_.frontier(state_, *fragment_, base))
        out.put(3), naming_.put(out, base), out.put(std::uint64_t(word) - *from + far), any = true;
    return any;
  }
};

void put(Writer& out, const Warp& w) {
  for (const Group& g : w.groups) out.put(g.lanes);
  out.put(0);
  for (const Part& p : w.parts) out.put(p.event + 1), out.put(p.lanes), out.put(p.fenced);
  out.put(0);
  for (const Observation& o : w.observed) out.put(o.lanes), out.put(o.wide);
  out.put(0);
  const auto copies = [&](int lane, const CopyGroups& c) {
    out.put(std::uint64_t(lane)), out.put(c.open);
    for (const EventSet& e : c.committed) out.put(1), out.put(e);
    out.put(0);
  };
  for (const auto& [lane, c] : w.copies) copies(lane, c);
  copies(lanes_per_warp, w.own_copies), copies(lanes_per_warp + 1, w.wgmma);
  for (const auto& [lane, queue] : w.tensor) out.put(std::uint64_t(lane));
  for (const auto& [lane, ends] : w.ended_phases) out.put(std::uint64_t(lane) + lanes_per_warp);
  for (const auto& [lane, sent] : w.sent) out.put(std::uint64_t(lane) + 2 * lanes_per_warp);
  for (const PendingLoad& p : w.loads) out.put(p.event), out.put(p.registers.size());
  out.put(w.stores);
}

// Where threads stand in their rounds.
void put_rounds(Writer& out, const State& s, const Fragment& f, Machine& machine, Naming& naming) {
  for (const auto& [bound, r] : f.rounds) {
    const auto from = machine.rounds().frontier(s, f, bound);
    const std::optional<std::int64_t> last = naming.last_place(bound);
    const std::uint64_t less = last ? std::uint64_t(*last) : from.value_or(0);
    out.put(1), naming.put(out, bound), out.put(r.number - machine.rounds().first_round(s, bound));
    for (const auto& [place, n] : r.numbers) out.put(place + 1), out.put(n ? *n - less + far : 0);
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
    // States are alike only if the bound has moved by a multiple of 2^bits.
    if (rest) out.put(rest->bits), out.put(from.value_or(0) & flow::low_mask(rest->bits));
    // The same holds for other bits and remainders of the bound that count.
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

std::string key(const State& s, Machine& machine) {
  const Program& program = machine.program();
  Writer out;
  Registers words(s, machine);
  for (const Cta& cta : s.ctas) {
    for (const Warp& w : cta.warps) {
      for (const Fragment& f : w.fragments) {
        out.put(f.lanes), out.put(f.at), out.put(f.arrived), out.put(std::uint64_t(f.wait.kind)),
            out.put(f.failed_wait), out.put(f.cluster_uses > s.cluster.generation);
        for (const ir::RegisterId r : program.live(f.at)) words.put(out, f, r);
        put_rounds(out, s, f, machine, words.naming());
      }
      put(out, w);
    }
    for (const auto& [at, b] : cta.mbarriers) {
      out.put(at), out.put(b.phase & 1), out.put(b.expected), out.put(b.pending), out.put(std::uint64_t(b.tx));
      out.put(b.copies), out.put(std::uint64_t(b.late_bytes)), out.put(b.completed), out.put(b.before), out.put(b.observers), out.put(b.init);
      for (const RemoteUse& use : b.users) out.put(use.arrival), out.put(use.issue);
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
    out.put(*cta.shared);
    for (const Common<Intervals>& block : cta.tensor) out.put(*block);
    for (const auto& [at, a] : cta.allocations) out.put(at), out.put(a.columns);
    out.put(cta.tiles), out.put(cta.acquired_maps);
    for (const auto& [where, e] : cta.published_maps) out.put(where.first + 1), out.put(where.second), out.put(e);
    out.put(0);
    for (const auto& [at, sum] : cta.sums) out.put(at), sum.each([&](std::uint64_t v) { out.put(v); });
    for (const auto& [at, flag] : cta.flags) {
      out.put(at + 1), out.put(flag.bytes), out.put(flag.readers.size());
      for (const auto& [where, lanes] : flag.readers) out.put(where.first), out.put(where.second), out.put(lanes);
      for (const FlagWrite& w : flag.writes) {
        out.put(w.event + 1), out.put(w.cta), out.put(w.warp), out.put(std::uint64_t(w.lane)), out.put(w.word ? 1 : 0);
        if (w.word) words.naming().put(out, *w.word);
      }
      out.put(0);
    }
    out.put(0);
    for (const auto& [where, t] : cta.unknown)
      out.put(where.first + 1), out.put(where.second), words.naming().put(out, t);
    out.put(0);
    for (const auto& [at, stored] : cta.stored)
      for (const auto& [bytes, t] : stored) {
        out.put(at), out.put(std::uint64_t(bytes)), words.naming().put(out, t);
        out.put(machine.rounds().frontier(s, machine.symbols().assumptions().word(t).base, 0).value_or(0));
      }
  }
  out.put(s.cluster.generation & 1), out.put(s.cluster.arrived), out.put(s.cluster.gone);
  out.put(s.unknown.size());
  for (const auto& [where, t] : s.unknown)
    words.naming().put(out, where.first), out.put(where.second), words.naming().put(out, t);
  for (const auto& [p, v] : s.decided)
    if (!words.naming().is_past(p)) words.naming().put(out, p), out.put(v);
  put_domains(out, s, machine, words.naming());
  out.put(s.guessed);
  // Of an event, what later judgements ask for.
  for (const Event& e : s.events)
    out.put(std::uint64_t(e.operation ? program.code.index(*e.operation) + 1 : 0)), out.put(e.cta), out.put(e.warp),
        out.put(e.lanes);
  machine.budget().spend(words.naming().work() / words_a_step);  // words that grow in a loop take time here
  return out.take();
}

}  // namespace kiln::verifier::explore
