// The word of a register in each lane of a warp: one term for all, or one each.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ptx/flow/terms.hpp"

namespace kiln::verifier::explore {

using Mask = std::uint32_t;
inline constexpr Mask all_lanes = ~Mask{0};
inline constexpr int lanes_per_warp = 32;

/// The lanes of a mask in rising order: `for (const int lane : Lanes(mask))`.
class Lanes {
 public:
  explicit Lanes(Mask mask) : mask_(mask) {}
  struct Iterator {
    Mask left = 0;
    int operator*() const { return std::countr_zero(left); }
    Iterator& operator++() { return left &= left - 1, *this; }
    bool operator==(const Iterator&) const = default;
  };
  Iterator begin() const { return {mask_}; }
  Iterator end() const { return {}; }

 private:
  Mask mask_;
};

using LaneTerms = std::array<flow::TermId, lanes_per_warp>;

/// A word of one `Words`; equal words have equal numbers.
using WordId = std::uint32_t;

class Words {
 public:
  WordId uniform(flow::TermId t) const { return t << 1; }
  /// The word whose lanes have these terms.
  WordId of(const LaneTerms& lanes) {
    if (std::all_of(lanes.begin(), lanes.end(), [&](flow::TermId t) { return t == lanes[0]; }))
      return uniform(lanes[0]);
    const auto [found, is_new] = by_terms_.emplace(lanes, WordId(lanes_.size() << 1 | 1));
    if (is_new) lanes_.push_back(lanes);
    return found->second;
  }

  bool is_uniform(WordId w) const { return (w & 1) == 0; }
  flow::TermId at(WordId w, int lane) const { return w & 1 ? lanes_[w >> 1][std::size_t(lane)] : w >> 1; }
  /// `a` in the lanes of `mask`, `b` in the others.
  WordId merged(WordId a, WordId b, Mask mask) {
    if (a == b || mask == all_lanes) return a;
    if (mask == 0) return b;
    LaneTerms out;
    for (int l = 0; l < lanes_per_warp; ++l) out[std::size_t(l)] = at(mask >> l & 1 ? a : b, l);
    return of(out);
  }
  /// Every lane has a number.
  bool is_constant(WordId w, const flow::Terms& terms) const {
    if (is_uniform(w)) return terms.is_constant(w >> 1);
    const LaneTerms& lanes = lanes_[w >> 1];
    return std::all_of(lanes.begin(), lanes.end(), [&](flow::TermId t) { return terms.is_constant(t); });
  }
  /// The term that the lanes of `mask` share; nothing when they differ.
  std::optional<flow::TermId> shared(WordId w, Mask mask) const {
    if (is_uniform(w)) return w >> 1;
    const flow::TermId first = at(w, std::countr_zero(mask));
    for (const int l : Lanes(mask))
      if (at(w, l) != first) return std::nullopt;
    return first;
  }
  /// Calls f(TermId) once where a word is uniform, else for each lane of `mask`.
  template <class F>
  void each(WordId w, Mask mask, F f) const {
    if (is_uniform(w)) return f(w >> 1);
    for (const int l : Lanes(mask)) f(at(w, l));
  }

 private:
  std::vector<LaneTerms> lanes_{};
  std::map<LaneTerms, WordId> by_terms_{};
};

}  // namespace kiln::verifier::explore
