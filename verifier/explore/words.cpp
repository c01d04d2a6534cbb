#include "verifier/explore/words.hpp"

#include <algorithm>
#include <bit>

namespace kiln::verifier::explore {

WordId Words::of(const LaneTerms& lanes) {
  if (std::all_of(lanes.begin(), lanes.end(), [&](flow::TermId t) { return t == lanes[0]; })) return uniform(lanes[0]);
  const auto [found, is_new] = by_terms_.emplace(lanes, WordId(lanes_.size() << 1 | 1));
  if (is_new) lanes_.push_back(lanes);
  return found->second;
}

WordId Words::merged(WordId a, WordId b, Mask mask) {
  if (a == b || mask == all_lanes) return a;
  if (mask == 0) return b;
  LaneTerms out;
  for (int l = 0; l < lanes_per_warp; ++l) out[std::size_t(l)] = at(mask >> l & 1 ? a : b, l);
  return of(out);
}

bool Words::is_constant(WordId w, const flow::Terms& terms) const {
  if (is_uniform(w)) return terms.is_constant(w >> 1);
  const LaneTerms& lanes = lanes_[w >> 1];
  return std::all_of(lanes.begin(), lanes.end(), [&](flow::TermId t) { return terms.is_constant(t); });
}

std::optional<flow::TermId> Words::shared(WordId w, Mask mask) const {
  if (is_uniform(w)) return w >> 1;
  const flow::TermId first = at(w, std::countr_zero(mask));
  for (Mask m = mask; m; m &= m - 1)
    if (at(w, std::countr_zero(m)) != first) return std::nullopt;
  return first;
}

}  // namespace kiln::verifier::explore
