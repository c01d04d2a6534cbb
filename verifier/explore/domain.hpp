// The numbers that a word may be: intervals of unsigned numbers, exact under comparison with a number, signed or not,
// whatever was added to the word before.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ptx/flow/bits.hpp"

namespace kiln::verifier::explore {

/// Numbers from `first` on up to `last`, beyond the largest on from zero.
struct Span {
  std::uint64_t first = 0, last = 0;
  bool operator==(const Span&) const = default;

  /// The numbers that lie within after their low bits were cleared; nothing when there are none.
  std::optional<Span> before_clearing(int bits, std::uint64_t mask) const;
};

class Domain {
 public:
  /// All numbers of a width in bits, or those that known bits allow.
  explicit Domain(int width) : width_(width), parts_{{0, flow::low_mask(width)}} {}
  Domain(int width, const flow::Bits&);

  /// Leaves what lies within; nothing stands for no number at all.
  void keep(const std::optional<Span>&);
  /// Leaves what lies outside.
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
  /// The least number from which on all are possible up to the largest signed one, or up to `largest` where that is
  /// less; nothing when that is not so.
  std::optional<std::uint64_t> open_from(std::uint64_t largest = ~std::uint64_t{0}) const;

  bool operator==(const Domain&) const = default;

 private:
  int width_;
  std::vector<Span> parts_;
};

}  // namespace kiln::verifier::explore
