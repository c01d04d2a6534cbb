#include "verifier/explore/naming.hpp"

namespace kiln::verifier::explore {

using flow::TermId;

void Writer::put(std::uint64_t v) {
  do {
    text_.push_back(char((v & 0x7F) | (v > 0x7F ? 0x80 : 0)));
    v >>= 7;
  } while (v);
}

void Writer::put(const EventSet& e) {
  e.each([&](EventId id) { put(id + 1); });
  put(0);
}

void Writer::put(const Intervals& m) {
  for (const auto& [at, cell] : m) {
    put(at + 1), put(cell.end);
    for (const Toucher& e : cell.writers) put(e.event), put(e.lanes);
    put(0);
    for (const Toucher& e : cell.readers) put(e.event), put(e.lanes);
    put(0);
  }
  put(0);
}

Naming::Naming(const State& s, const Program& program, Machine& machine) : state_(s), machine_(machine) {
  each_word(s, program, machine, [&](TermId t) {
    const auto p = place(t);
    if (!p) return;
    const auto [found, is_new] = last_.try_emplace({p->start, p->step}, p->n);
    found->second = std::min(found->second, p->n);
  });
}

// Counters that move along: nobody comes any more with one that begins anew.
std::optional<Assumptions::Place> Naming::place(TermId t) const {
  const auto p = machine_.symbols().assumptions().place(t);
  const auto closed = p ? state_.closed.find(p->start) : state_.closed.end();
  return closed != state_.closed.end() && closed->second ? p : std::nullopt;
}

bool Naming::is_plain(TermId t) {
  const auto [found, is_new] = plain_.try_emplace(t, true);
  if (!is_new) return found->second;
  const auto p = place(t);
  bool plain = !p || !last_.contains({p->start, p->step});
  for (const flow::Terms::Part& part : std::vector(machine_.symbols().terms().sum(t).parts)) {
    plain &= !machine_.symbols().is_fresh(part.atom);
    for (const TermId o : machine_.symbols().terms().atom_of(part.atom)->operands) plain &= is_plain(o);
  }
  return plain_[t] = plain;
}

bool Naming::is_past(TermId t) {
  if (last_.empty()) return false;
  if (const auto p = place(t)) {
    const auto last = last_.find({p->start, p->step});
    if (last != last_.end()) return p->n < last->second;
  }
  const auto [known, is_new] = past_.try_emplace(t, false);
  if (!is_new) return known->second;
  bool past = false;
  for (const flow::Terms::Part& part : machine_.symbols().terms().sum(t).parts)
    for (const TermId o : machine_.symbols().terms().atom_of(part.atom)->operands) past |= is_past(o);
  return past_[t] = past;
}

void Naming::put_atom(Writer& out, TermId atom) {
  if (machine_.symbols().is_fresh(atom))
    return out.put(3), out.put(fresh_.try_emplace(atom, fresh_.size()).first->second);
  if (is_plain(atom)) return out.put(1), out.put(atom);
  const flow::Terms::Atom& a = *machine_.symbols().terms().atom_of(atom);
  out.put(2), out.put(a.name);
  for (const TermId o : a.operands) put(out, o);
}

void Naming::put(Writer& out, TermId t) {
  if (is_plain(t)) return out.put(1), out.put(t);
  // What was spelled out once has a number of its own.
  const auto [said, is_new] = said_.try_emplace(t, said_.size());
  if (!is_new) return out.put(5), out.put(said->second);
  const flow::Terms::Sum& sum = machine_.symbols().terms().sum(t);
  if (const auto p = place(t)) {
    const auto last = last_.find({p->start, p->step});
    if (last != last_.end())
      return out.put(4), out.put(p->start), out.put(p->step), out.put(std::uint64_t(p->n - last->second));
  }
  out.put(2), out.put(sum.parts.size()), out.put(sum.number);
  for (const flow::Terms::Part& part : sum.parts) out.put(part.factor), put_atom(out, part.atom);
}

}  // namespace kiln::verifier::explore
