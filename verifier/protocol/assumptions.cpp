#include "verifier/protocol/assumptions.hpp"

#include <algorithm>

namespace kiln::verifier::protocol {

using flow::TermId;

Assumptions::Assumptions(flow::Terms& terms, flow::Evaluator& evaluator)
    : terms_(terms), equal_(evaluator.name("equal")), below_(evaluator.name("below")), less_(evaluator.name("less")) {}

std::optional<Assumptions::Comparison> Assumptions::comparison(TermId predicate) const {
  Comparison c;
  const flow::Terms::Atom* atom = terms_.atom_of(predicate);
  if (!atom) {
    c.opposite = true;
    atom = terms_.atom_of(terms_.add(predicate, terms_.constant(1, 1)));
  }
  if (!atom || atom->operands.size() != 2) return std::nullopt;
  if (atom->name != equal_ && atom->name != below_ && atom->name != less_) return std::nullopt;
  c.equal = atom->name == equal_;
  c.is_signed = atom->name == less_;
  const auto first = terms_.value(atom->operands[0]), second = terms_.value(atom->operands[1]);
  if (first.has_value() == second.has_value()) return std::nullopt;
  c.word_is_first = second.has_value();
  c.word = atom->operands[c.word_is_first ? 0 : 1];
  c.number = c.word_is_first ? *second : *first;
  return c;
}

std::optional<bool> Assumptions::within(const Range& r, const Comparison& c) const {
  const int unused = 64 - terms_.width(c.word);
  const auto number = std::int64_t(c.number << unused) >> unused;
  const auto answer = [&](auto least, auto most, auto n) -> std::optional<bool> {
    if (c.equal) {
      if (n < least || n > most) return false;
      return least == most ? std::optional(true) : std::nullopt;
    }
    if (c.word_is_first) return most < n ? std::optional(true) : least >= n ? std::optional(false) : std::nullopt;
    return least > n ? std::optional(true) : most <= n ? std::optional(false) : std::nullopt;
  };
  const auto as_signed = answer(r.signed_least, r.signed_most, number);
  const auto as_unsigned = answer(r.least, r.most, c.number);
  if (c.equal) return as_unsigned ? as_unsigned : as_signed;
  return c.is_signed ? as_signed : as_unsigned;
}

std::optional<bool> Assumptions::holds(const State& s, TermId predicate) {
  if (const auto v = terms_.value(predicate)) return *v != 0;
  if (const auto found = s.decided.find(predicate); found != s.decided.end()) return found->second;
  const TermId contrary = terms_.add(predicate, terms_.constant(1, 1));
  if (const auto found = s.decided.find(contrary); found != s.decided.end()) return !found->second;
  const auto c = comparison(predicate);
  if (!c) return std::nullopt;
  const auto range = s.ranges.find(c->word);
  if (range == s.ranges.end()) return std::nullopt;
  const auto answer = within(range->second, *c);
  return answer ? std::optional(*answer != c->opposite) : std::nullopt;
}

// What is known of the word as one kind of number says something of the other where the two agree.
void Assumptions::narrow(Range& r, const Comparison& c, bool holds, int width) {
  const auto cut = [&](auto& least, auto& most, auto n) {
    if (c.equal) {
      if (holds)
        least = most = n;
      else if (least == n)
        ++least;
      else if (most == n)
        --most;
    } else if (c.word_is_first) {
      holds ? most = std::min(most, n - 1) : least = std::max(least, n);
    } else {
      holds ? least = std::max(least, n + 1) : most = std::min(most, n);
    }
  };
  const auto number = std::int64_t(c.number << (64 - width)) >> (64 - width);
  if (c.equal || c.is_signed) cut(r.signed_least, r.signed_most, number);
  if (c.equal || !c.is_signed) cut(r.least, r.most, c.number);
  const auto highest = std::int64_t(flow::low_mask(width - 1));
  if (r.signed_least >= 0) {
    r.least = std::max(r.least, std::uint64_t(r.signed_least));
    r.most = std::min(r.most, std::uint64_t(r.signed_most));
  }
  if (r.most <= std::uint64_t(highest)) {
    r.signed_least = std::max(r.signed_least, std::int64_t(r.least));
    r.signed_most = std::min(r.signed_most, std::int64_t(r.most));
  }
}

// The unknown words that a term is made of in the end.
void Assumptions::collect(TermId t, std::set<TermId>& atoms) const {
  for (const flow::Terms::Part& p : terms_.sum(t).parts) {
    const flow::Terms::Atom* a = terms_.atom_of(p.atom);
    if (!a || a->operands.empty())
      atoms.insert(p.atom);
    else
      for (const TermId operand : a->operands) collect(operand, atoms);
  }
}

bool Assumptions::may_contradict(const State& s) const {
  std::set<TermId> seen;
  std::size_t total = 0;
  const auto add = [&](TermId word) {
    std::set<TermId> atoms;
    collect(word, atoms);
    total += atoms.size();
    seen.insert(atoms.begin(), atoms.end());
  };
  for (const auto& [word, range] : s.ranges) add(word);
  for (const auto& [predicate, holds] : s.decided) {
    const auto c = comparison(predicate);
    if (!c || !s.ranges.contains(c->word)) add(predicate);
  }
  return total != seen.size();
}

void Assumptions::assume(State& s, TermId predicate, bool holds) {
  const auto c = comparison(predicate);
  if (!c) {
    s.decided[predicate] = holds;
    return;
  }
  const int width = terms_.width(c->word);
  const auto highest = std::int64_t(flow::low_mask(width - 1));
  const auto [range, is_new] = s.ranges.emplace(c->word, Range{0, flow::low_mask(width), -highest - 1, highest});
  narrow(range->second, *c, holds != c->opposite, width);
  // An unequal number in the middle of what is possible leaves a hole that no range shows.
  if (c->equal) s.decided[predicate] = holds;
}

}  // namespace kiln::verifier::protocol
