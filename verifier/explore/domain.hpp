// The numbers that a word may be: intervals of unsigned numbers, exact under comparison with a number, signed or not,
// whatever was added to the word before.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ptx/flow/bits.hpp"

namespace kiln::verifier::explore {

/// Numbers from `first` up to `last`; after the largest number comes zero.
struct Span {
  std::uint64_t first = 0, last = 0;
  bool operator==(const Span&) const = default;

  /// The numbers that lie in the span once their low bits are cleared; nothing if there are none.
  std::optional<Span> before_clearing(int bits, std::uint64_t mask) const;
};

class Domain {
 public:
  /// All numbers of a width in bits, or those that known bits allow.
  explicit Domain(int width) : width_(width), parts_{{0, flow::low_mask(width)}} {}
  Domain(int width, const flow::Bits&);

  /// Keeps what lies in the span; without a span, nothing.
  void keep(const std::optional<Span>&);
  /// Keeps what lies outside of it.
  void drop(const std::optional<Span>&);

  bool empty() const { return parts_.empty(); }
  bool has(std::uint64_t v) const;
  /// The only number, if it is one.
  std::optional<std::uint64_t> value() const;
  /// How many numbers, at most 2^64 - 1.
  std::uint64_t count() const;
  /// True when a number of it has this rest modulo 2^bits.
  bool has_rest(std::uint64_t rest, int bits) const;
  /// Intervals in rising order, none touching the next.
  const std::vector<Span>& parts() const { return parts_; }
  int width() const { return width_; }
  /// The least number above which all are possible, up to the largest signed number or `largest`, whichever is less;
  /// nothing if there is none.
  std::optional<std::uint64_t> open_from(std::uint64_t largest = ~std::uint64_t{0}) const;

  bool operator==(const Domain&) const = default;

 private:
  int width_;
  std::vector<Span> parts_;
};

}  // namespace kiln::verifier::explore
