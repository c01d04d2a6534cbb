#include "verifier/explore/domain.hpp"

#include <algorithm>

namespace kiln::verifier::explore {

Domain::Domain(int width, const flow::Bits& known) : Domain(width) {
  keep(Span{known.smallest(), std::min(known.largest(), flow::low_mask(width))});
}

std::optional<Span> Span::before_clearing(int bits, std::uint64_t mask) const {
  const std::uint64_t low = flow::low_mask(bits), up = (first + low) & ~low & mask, down = last | low;
  // Between two multiples of 2^bits there is none.
  if (first <= last && (up > down || up < first || up > last)) return std::nullopt;
  return Span{up, (last & ~low) | low};
}

void Domain::keep(const std::optional<Span>& span) {
  if (!span) return parts_.clear();
  const std::uint64_t mask = flow::low_mask(width_), first = span->first & mask, last = span->last & mask;
  std::vector<Span> pieces;
  if (first <= last)
    pieces = {{first, last}};
  else
    pieces = {{0, last}, {first, mask}};
  std::vector<Span> out;
  for (const Span& p : parts_)
    for (const Span& q : pieces) {
      const Span both{std::max(p.first, q.first), std::min(p.last, q.last)};
      if (both.first > both.last) continue;
      if (!out.empty() && out.back().last + 1 == both.first)
        out.back().last = both.last;
      else
        out.push_back(both);
    }
  parts_ = std::move(out);
}

void Domain::drop(const std::optional<Span>& span) {
  if (!span) return;
  const std::uint64_t mask = flow::low_mask(width_), first = (span->last + 1) & mask, last = (span->first - 1) & mask;
  if (first == (span->first & mask)) return parts_.clear();  // it was everything
  keep(Span{first, last});
}

bool Domain::has(std::uint64_t v) const {
  return std::any_of(parts_.begin(), parts_.end(), [&](const Span& p) { return p.first <= v && v <= p.last; });
}

std::optional<std::uint64_t> Domain::value() const {
  if (parts_.size() != 1 || parts_[0].first != parts_[0].last) return std::nullopt;
  return parts_[0].first;
}

std::uint64_t Domain::count() const {
  std::uint64_t n = 0;
  for (const Span& p : parts_) {
    const std::uint64_t more = p.last - p.first;
    n = more >= ~n ? ~std::uint64_t{0} : n + more + 1;
  }
  return n;
}

bool Domain::has_rest(std::uint64_t rest, int bits) const {
  const std::uint64_t mask = flow::low_mask(bits);
  return std::any_of(parts_.begin(), parts_.end(),
                     [&](const Span& p) { return ((rest - p.first) & mask) <= p.last - p.first; });
}

std::optional<std::uint64_t> Domain::open_from(std::uint64_t largest) const {
  const std::uint64_t highest = std::min(flow::low_mask(width_ - 1), largest);
  for (const Span& p : parts_)
    if (p.first <= highest && p.last >= highest) return p.first;
  return std::nullopt;
}

}  // namespace kiln::verifier::explore
