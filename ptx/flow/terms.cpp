#include "ptx/flow/terms.hpp"

#include <algorithm>

namespace kiln::flow {
namespace {

constexpr std::uint64_t mixed(std::uint64_t h, std::uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15u;
  return h ^ h >> 29;
}

std::uint64_t hash(const Terms::Sum& s) {
  std::uint64_t h = mixed(std::uint64_t(s.width), s.number);
  for (const Terms::Part& p : s.parts) h = mixed(mixed(h, p.atom), p.factor);
  return h;
}

std::uint64_t hash(const Terms::Atom& a, int width) {
  std::uint64_t h = mixed(a.name, std::uint64_t(width));
  for (const TermId t : a.operands) h = mixed(h, t);
  return h;
}

}  // namespace

TermId Terms::intern(Sum s) {
  const std::uint64_t h = hash(s);
  const auto [first, last] = by_hash_.equal_range(h);
  for (auto it = first; it != last; ++it)
    if (sums_[it->second] == s) return it->second;
  sums_.push_back(std::move(s));
  const auto id = TermId(sums_.size() - 1);
  by_hash_.emplace(h, id);
  return id;
}

TermId Terms::constant(std::uint64_t value, int width) { return intern({width, value & low_mask(width), {}}); }

// An atom is the sum of itself: its own number stands in its only part.
TermId Terms::atom(std::uint64_t name, std::span<const TermId> operands, int width, Bits known) {
  const Atom a{name, {operands.begin(), operands.end()}};
  const std::uint64_t h = hash(a, width);
  const auto [first, last] = atoms_by_hash_.equal_range(h);
  for (auto it = first; it != last; ++it)
    if (atoms_.at(it->second) == a && sums_[it->second].width == width) return it->second;
  const auto id = TermId(sums_.size());
  const TermId made = intern({width, 0, {{id, 1}}});
  atoms_.emplace(made, a);
  known_.emplace(made, flow::truncate(known, width));
  atoms_by_hash_.emplace(h, made);
  return made;
}

TermId Terms::add(TermId a, TermId b) {
  const Sum &x = sums_[a], &y = sums_[b];
  Sum s{std::max(x.width, y.width), 0, {}};
  const std::uint64_t mask = low_mask(s.width);
  s.number = (x.number + y.number) & mask;
  auto i = x.parts.begin();
  auto j = y.parts.begin();
  while (i != x.parts.end() || j != y.parts.end()) {
    const bool left = j == y.parts.end() || (i != x.parts.end() && i->atom <= j->atom);
    const bool right = i == x.parts.end() || (j != y.parts.end() && j->atom <= i->atom);
    const TermId at = left ? i->atom : j->atom;
    const std::uint64_t factor = ((left ? (i++)->factor : 0) + (right ? (j++)->factor : 0)) & mask;
    if (factor) s.parts.push_back({at, factor});
  }
  return intern(std::move(s));
}

// Of an atom whose low bits are known, no more than those may be left in a sum.
TermId Terms::simplified(Sum s) {
  const std::uint64_t mask = low_mask(s.width);
  std::erase_if(s.parts, [&](Part& p) {
    p.factor &= mask;
    const auto known = flow::truncate(multiply(known_.at(p.atom), Bits::constant(p.factor)), s.width).value();
    if (known) s.number += *known;
    return p.factor == 0 || known;
  });
  s.number &= mask;
  return intern(std::move(s));
}

TermId Terms::scale(TermId a, std::uint64_t factor) {
  Sum s = sums_[a];
  s.number *= factor;
  for (Part& p : s.parts) p.factor *= factor;
  return simplified(std::move(s));
}

// An atom keeps its name in a narrower sum: only its low bits count there.
TermId Terms::truncate(TermId a, int width) {
  Sum s = sums_[a];
  if (width == s.width) return a;
  s.width = width;
  return simplified(std::move(s));
}

std::optional<TermId> Terms::extend(TermId a, int width, bool is_signed) {
  Sum s = sums_[a];
  if (width <= s.width) return std::nullopt;
  if (s.parts.empty()) return std::nullopt;
  unsigned __int128 most = s.number;
  const std::uint64_t limit = low_mask(is_signed ? s.width - 1 : s.width);
  for (const Part& p : s.parts) {
    // A wider atom is more than its low bits, and a negative factor may borrow.
    if (sums_[p.atom].width > s.width) return std::nullopt;
    most += static_cast<unsigned __int128>(known_.at(p.atom).largest()) * p.factor;
    if (most > limit) return std::nullopt;
  }
  s.width = width;
  return intern(std::move(s));
}

Bits Terms::bits(TermId t) const {
  const Sum& s = sums_[t];
  Bits out = Bits::constant(s.number);
  for (const Part& p : s.parts) out = flow::add(out, multiply(known_.at(p.atom), Bits::constant(p.factor)));
  return flow::truncate(out, s.width);
}

std::optional<std::uint64_t> Terms::value(TermId t) const {
  return is_constant(t) ? std::optional(sums_[t].number) : std::nullopt;
}

const Terms::Atom* Terms::atom_of(TermId t) const {
  const auto found = atoms_.find(t);
  return found == atoms_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> Terms::difference(TermId a, TermId b) {
  const TermId d = subtract(a, b);
  if (!is_constant(d)) return std::nullopt;
  const int unused = 64 - sums_[d].width;
  return std::int64_t(sums_[d].number << unused) >> unused;
}

}  // namespace kiln::flow
