// The word of a register in each lane of a warp: one term for all, or one each.
#pragma once

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
  WordId of(const LaneTerms& lanes);

  bool is_uniform(WordId w) const { return (w & 1) == 0; }
  flow::TermId at(WordId w, int lane) const { return w & 1 ? lanes_[w >> 1][std::size_t(lane)] : w >> 1; }
  /// `a` in the lanes of `mask`, `b` in the others.
  WordId merged(WordId a, WordId b, Mask mask);
  /// Every lane has a number.
  bool is_constant(WordId w, const flow::Terms&) const;
  /// The term that the lanes of `mask` share; nothing when they differ.
  std::optional<flow::TermId> shared(WordId w, Mask mask) const;
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
