#include "verifier/explore/assumptions.hpp"

#include <algorithm>

namespace kiln::verifier::explore {
namespace {

using flow::TermId;
using Span = explore::Span;

constexpr int most_rest_bits = 12;
constexpr std::uint64_t most_ways = 16;
constexpr std::uint64_t most_listed = 1024;  // numbers of one word that a predicate is tried with

}  // namespace

Assumptions::Assumptions(flow::Terms& terms, flow::Evaluator& evaluator)
    : terms_(terms),
      evaluator_(evaluator),
      equal_(evaluator.name("equal")),
      below_(evaluator.name("below")),
      less_(evaluator.name("less")),
      both_(evaluator.name("both")) {}

const Assumptions::Word& Assumptions::word(TermId t) const {
  if (const auto known = words_.find(t); known != words_.end()) return known->second;
  const Word made = split(t);
  return words_.emplace(t, made).first->second;
}

// A sum of several words and its contrary have one base: the one that was asked for first.
Assumptions::Word Assumptions::split(TermId t) const {
  const flow::Terms::Sum sum = terms_.sum(t);  // making terms moves them
  const int width = sum.width;
  const std::uint64_t mask = flow::low_mask(width), offset = sum.number;
  const bool negated = sum.parts.size() == 1 && sum.parts[0].factor == mask;
  if (negated) return {terms_.truncate(sum.parts[0].atom, width), offset, true, 0};
  const TermId base = terms_.subtract(t, terms_.constant(offset, width));
  if (sum.parts.size() < 2) return {base, offset};
  for (const flow::Terms::Part& p : sum.parts) {
    const auto low = evaluator_.low_bits_of(*terms_.atom_of(p.atom));
    if (low && p.factor == mask && terms_.add(base, p.atom) == low->first && low->second <= most_rest_bits)
      return {low->first, offset, false, low->second};
  }
  const TermId contrary = terms_.scale(base, mask);
  if (bases_.contains(contrary)) return {contrary, offset, true, 0};
  bases_.insert(base);
  return {base, offset};
}

std::optional<Span> Assumptions::Word::spanned(const Span& s, std::uint64_t mask) const {
  const Span b = negated ? Span{base_at(s.last) & mask, base_at(s.first) & mask}
                         : Span{base_at(s.first) & mask, base_at(s.last) & mask};
  return cleared ? b.before_clearing(cleared, mask) : b;
}

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
  const TermId operands[] = {atom->operands[0], atom->operands[1]};
  const auto first = terms_.value(operands[0]), second = terms_.value(operands[1]);
  if (first && second) return std::nullopt;
  if (!first && !second) {
    // a = b if b - a is zero; signed, a < b if b - a is more than zero.
    if (atom->name == below_ || place(operands[0]) || place(operands[1])) return std::nullopt;
    c.word_is_first = false;
    c.word = word(terms_.subtract(operands[1], operands[0]));
    return c;
  }
  c.word_is_first = second.has_value();
  c.number = c.word_is_first ? *second : *first;
  c.word = word(operands[c.word_is_first ? 0 : 1]);
  return c;
}

TermId Assumptions::about(TermId predicate, TermId other) {
  const auto c = comparison(predicate);
  if (!c) return predicate;
  if (const auto r = rest(c->word.base)) other = evaluator_.low_bits(rebased(r->of, other), r->bits);
  const TermId word = rebased(c->word, other), number = terms_.constant(c->number, terms_.width(word));
  const TermId out = c->equal           ? evaluator_.equal(word, number)
                     : c->word_is_first ? evaluator_.less(word, number, c->is_signed)
                                        : evaluator_.less(number, word, c->is_signed);
  return c->opposite ? terms_.add(out, terms_.constant(1, 1)) : out;
}

// The word as a term, with another base.
TermId Assumptions::rebased(const Word& w, TermId base) {
  if (w.cleared) base = terms_.subtract(base, evaluator_.low_bits(base, w.cleared));
  const TermId offset = terms_.constant(w.offset, terms_.width(base));
  return w.negated ? terms_.subtract(offset, base) : terms_.add(base, offset);
}

std::optional<Span> Assumptions::Comparison::span(int width) const {
  const std::uint64_t mask = flow::low_mask(width), sign = std::uint64_t{1} << (width - 1);
  const std::uint64_t least = is_signed ? sign : 0, most = is_signed ? sign - 1 : mask, n = number & mask;
  Span s{n, n};
  if (!equal) {
    if (n == (word_is_first ? least : most)) return std::nullopt;
    s = word_is_first ? Span{least, (n - 1) & mask} : Span{(n + 1) & mask, most};
  }
  return word.spanned(s, mask);
}

std::optional<Span> Assumptions::Comparison::without_overflow(int width) const {
  const std::uint64_t mask = flow::low_mask(width), sign = std::uint64_t{1} << (width - 1);
  if (!is_signed || (word.offset == 0 && !word.negated)) return std::nullopt;
  const bool negative = (word.offset & sign) != 0;
  const std::uint64_t least = sign, most = sign - 1;
  if (word.negated)
    return negative ? Span{least, (word.offset - least) & mask} : Span{(word.offset - most) & mask, most};
  return negative ? Span{(least - word.offset) & mask, most} : Span{least, (most - word.offset) & mask};
}

Domain Assumptions::domain(const Assumed& s, TermId base) const {
  const auto found = s.domains.find(base);
  return found == s.domains.end() ? Domain(terms_.width(base), terms_.bits(base)) : found->second;
}

std::optional<Assumptions::Rest> Assumptions::rest(TermId t) const {
  const flow::Terms::Atom* atom = terms_.atom_of(t);
  const auto low = atom ? evaluator_.low_bits_of(*atom) : std::nullopt;
  if (!low || low->second > most_rest_bits) return std::nullopt;
  const Word of = word(low->first);
  return of.cleared ? std::nullopt : std::optional(Rest{of, low->second});
}

std::optional<Assumptions::Place> Assumptions::place(TermId t) const {
  const flow::Terms::Sum& sum = terms_.sum(t);
  if (sum.parts.size() != 2 || sum.number != 0) return std::nullopt;
  for (const int k : {0, 1}) {
    const auto &start = sum.parts[std::size_t(k)], &step = sum.parts[std::size_t(1 - k)];
    const int unused = 64 - sum.width;
    if (start.factor == 1 && evaluator_.is_leaf(start.atom) && evaluator_.is_leaf(step.atom))
      return Place{start.atom, step.atom, std::int64_t(step.factor << unused) >> unused};
  }
  return std::nullopt;
}

std::optional<Assumptions::Place> Assumptions::compared_place(TermId predicate) const {
  const flow::Terms::Atom* atom = terms_.atom_of(predicate);
  if (!atom) atom = terms_.atom_of(terms_.add(predicate, terms_.constant(1, 1)));
  if (!atom || (atom->name != equal_ && atom->name != below_ && atom->name != less_)) return std::nullopt;
  for (const TermId o : atom->operands)
    if (const auto p = place(o)) return p;
  return std::nullopt;
}

// Whether nothing that is assumed of words made of a leaf says that the leaf is another number.
bool Assumptions::may_be(const Assumed& s, TermId leaf, std::uint64_t number) const {
  const auto as_number = [&](TermId t) {
    const bool is_made_of = t != leaf && evaluator_.pieces(t).contains(leaf);
    return is_made_of ? terms_.value(evaluator_.with(t, {{leaf, number}})) : std::nullopt;
  };
  for (const auto& [word, domain] : s.domains)
    if (const auto v = as_number(word); v && !domain.empty() && !domain.has(*v)) return false;
  for (const auto& [predicate, holds] : s.decided)
    if (const auto v = as_number(predicate); v && (*v != 0) != holds) return false;
  return true;
}

// Whether a base can be one of these numbers, given what is assumed of its low bits and of words made of it.
bool Assumptions::can_be(const Assumed& s, TermId base, const Domain& allowed) const {
  if (allowed.empty()) return false;
  const bool is_leaf = terms_.atom_of(base) && evaluator_.is_leaf(base);
  if (const auto v = allowed.value(); v && is_leaf && !may_be(s, base, *v)) return false;
  const auto own = rest(base);
  const TermId whole = own ? own->of.base : base;
  std::vector<std::pair<Rest, const Domain*>> rests;
  int bits = 0;
  for (const auto& [word, d] : s.domains)
    if (const auto r = rest(word); r && r->of.base == whole && word != base) rests.push_back({*r, &d});
  if (own) rests.push_back({*own, &allowed});
  if (rests.empty()) return true;
  for (const auto& [r, d] : rests) bits = std::max(bits, r.bits);
  const Domain all = own ? domain(s, whole) : allowed;
  for (std::uint64_t v = 0; v < std::uint64_t{1} << bits; ++v) {
    const bool fits = std::all_of(rests.begin(), rests.end(), [&](const auto& r) {
      return r.second->has(r.first.of.at(v) & flow::low_mask(r.first.bits));
    });
    if (fits && all.has_rest(v, bits)) return true;
  }
  return false;
}

TermId Assumptions::settled(const Assumed& s, TermId t) const {
  if (s.domains.empty() || terms_.is_constant(t)) return t;
  const Word w = word(t);
  const auto found = s.domains.find(w.base);
  if (found != s.domains.end() && !found->second.empty()) {
    // With its low bits cleared, a word may be one number although its base may be several.
    const std::vector<Span>& parts = found->second.parts();
    const std::uint64_t least = w.at(parts.front().first), most = w.at(parts.back().last);
    if (least == most) return terms_.constant(least, terms_.width(t));
  }
  return s.settled.empty() ? t : evaluator_.with(t, s.settled);
}

std::optional<TermId> Assumptions::way_to_settle(Assumed& s, TermId t) {
  for (const TermId leaf : std::set(evaluator_.pieces(t))) {
    const Domain now = domain(s, leaf);
    if (now.value() || now.count() > most_ways) continue;
    const std::vector<Span> parts = now.parts();
    for (const Span& p : parts)
      for (std::uint64_t v = p.first; v <= p.last; ++v) {
        const TermId is_it = evaluator_.equal(leaf, terms_.constant(v, terms_.width(leaf)));
        const auto answer = holds(s, is_it);
        if (!answer) return is_it;
        assume(s, is_it, *answer);
      }
  }
  return std::nullopt;
}

// The numbers that the base of a comparison may be if its sum does not overflow.
Domain Assumptions::sane(const Assumed& s, const Comparison& c) const {
  Domain d = domain(s, c.word.base);
  const auto span = c.without_overflow(d.width());
  if (!span) return d;
  Domain kept = d;
  kept.keep(span);
  return kept.empty() ? d : kept;
}

std::optional<bool> Assumptions::holds(const Assumed& s, TermId predicate) {
  if (const auto v = terms_.value(predicate)) return *v != 0;
  if (const auto found = s.decided.find(predicate); found != s.decided.end()) return found->second;
  const TermId contrary = terms_.add(predicate, terms_.constant(1, 1));
  if (const auto found = s.decided.find(contrary); found != s.decided.end()) return !found->second;
  if (const auto all = conjunction(predicate)) {
    const auto a = holds(s, all->parts[0]), b = holds(s, all->parts[1]);
    if ((a && !*a) || (b && !*b)) return all->opposite;
    return a && b ? std::optional(!all->opposite) : std::nullopt;
  }
  if (const auto v = listed(s, predicate)) return v;
  const auto c = comparison(predicate);
  if (!c) return std::nullopt;
  const auto span = c->span(terms_.width(c->word.base));
  Domain yes = sane(s, *c), no = yes;
  yes.keep(span), no.drop(span);
  if (!can_be(s, c->word.base, yes)) return c->opposite;
  if (!can_be(s, c->word.base, no)) return !c->opposite;
  return std::nullopt;
}

// The only unknown word that a predicate is made of, if it can only be a few numbers.
const std::pair<const TermId, Domain>* Assumptions::listable(const Assumed& s, TermId predicate) {
  const auto [known, is_new] = sources_.try_emplace(predicate, 0);
  if (is_new) {
    std::size_t leaves = 0;
    for (const TermId piece : evaluator_.pieces(predicate))
      if (evaluator_.is_leaf(piece)) known->second = piece, ++leaves;
    if (leaves != 1) known->second = 0;
  }
  const auto found = known->second ? s.domains.find(known->second) : s.domains.end();
  return found == s.domains.end() || found->second.count() > most_listed ? nullptr : &*found;
}

bool Assumptions::holds_for(TermId predicate, TermId leaf, std::uint64_t number) {
  const auto [known, is_new] = outcomes_.try_emplace({predicate, number}, false);
  if (!is_new) return known->second;
  const auto v = terms_.value(evaluator_.with(predicate, {{leaf, number}}));
  if (!v) sources_[predicate] = 0;  // it is made by operations that are not modelled
  return known->second = v && *v;
}

// Whether a predicate holds for all numbers that the word may be, or for none.
std::optional<bool> Assumptions::listed(const Assumed& s, TermId predicate) {
  const auto* source = listable(s, predicate);
  if (!source || source->second.empty()) return std::nullopt;
  bool any = false, all = true;
  for (const Span& p : source->second.parts())
    for (std::uint64_t v = p.first; v <= p.last; ++v) {
      const bool holds = holds_for(predicate, source->first, v);
      any |= holds, all &= holds;
      if (any != all || sources_[predicate] == 0) return std::nullopt;
    }
  return any;
}

// Drops the numbers for which a predicate is not what is assumed.
void Assumptions::narrow(Assumed& s, TermId predicate, bool holds) {
  const auto* source = listable(s, predicate);
  if (!source) return;
  Domain kept = source->second;
  for (const Span& p : source->second.parts())
    for (std::uint64_t v = p.first; v <= p.last; ++v) {
      if (holds_for(predicate, source->first, v) != holds) kept.drop(Span{v, v});
      if (sources_[predicate] == 0) return;
    }
  if (kept.empty()) return;
  const TermId leaf = source->first;
  if (const auto v = kept.value()) s.settled[leaf] = *v;
  s.domains.insert_or_assign(leaf, std::move(kept));
}

std::optional<Assumptions::Conjunction> Assumptions::conjunction(TermId predicate) const {
  const flow::Terms::Atom* atom = terms_.atom_of(predicate);
  const bool opposite = !atom;
  if (opposite) atom = terms_.atom_of(terms_.add(predicate, terms_.constant(1, 1)));
  if (!atom || atom->name != both_) return std::nullopt;
  return Conjunction{{atom->operands[0], atom->operands[1]}, opposite};
}

void Assumptions::assume(Assumed& s, TermId predicate, bool holds) {
  narrow(s, predicate, holds);
  const auto c = comparison(predicate);
  if (!c) {
    s.decided[predicate] = holds;
    return;
  }
  Domain& d = s.domains.insert_or_assign(c->word.base, sane(s, *c)).first->second;
  const auto span = c->span(d.width());
  holds != c->opposite ? d.keep(span) : d.drop(span);
  const auto v = d.value();
  if (!v) return;
  const flow::Terms::Atom* atom = terms_.atom_of(c->word.base);
  if (atom && (evaluator_.is_leaf(c->word.base) || evaluator_.low_bits_of(*atom))) s.settled[c->word.base] = *v;
}

}  // namespace kiln::verifier::explore
