// What a run takes for granted of values that the kernel alone does not say: which way its undecided predicates go, and
// what follows from that for others ("3 < n" and "n is not 4" say that 4 < n).
#pragma once

#include <optional>

#include "ptx/flow/evaluate.hpp"
#include "verifier/explore/state.hpp"

namespace kiln::verifier::explore {

class Assumptions {
 public:
  Assumptions(flow::Terms& terms, flow::Evaluator& evaluator);

  /// A word as a base, which is a sum without a number, perhaps with its low bits cleared, and an offset; or as the
  /// offset less that.
  struct Word {
    flow::TermId base = 0;
    std::uint64_t offset = 0;
    bool negated = false;
    int cleared = 0;

    /// What it is where the base is `v`.
    std::uint64_t at(std::uint64_t v) const {
      const std::uint64_t b = v & ~flow::low_mask(cleared);
      return negated ? offset - b : offset + b;
    }
    /// Where the base is when the word is `v`; of several the least.
    std::uint64_t base_at(std::uint64_t v) const { return negated ? offset - v : v - offset; }
    /// Where the base lies when the word lies in a span.
    std::optional<Span> spanned(const Span& s, std::uint64_t mask) const;
  };
  Word word(flow::TermId) const;

  /// One word compared with a number: equal, below or, signed, less; or the number below the word.
  struct Comparison {
    Word word{};
    std::uint64_t number = 0;
    bool equal = false, is_signed = false, word_is_first = true;
    bool opposite = false;  // the predicate is its contrary

    /// Where the base lies when the comparison (not its contrary) holds.
    std::optional<Span> span(int width) const;
    /// Where it lies when the word as a signed number is the sum that it is written as: programs that compare a signed
    /// sum rely on that, as the languages that they are written in let them.
    std::optional<Span> without_overflow(int width) const;
  };
  /// The comparison that a predicate is, if it is one of a word with a number.
  std::optional<Comparison> comparison(flow::TermId predicate) const;

  /// A comparison as one with another word in place of its base, or in place of that of which its base is the low bits.
  flow::TermId about(flow::TermId predicate, flow::TermId other);

  /// Whether a predicate holds under what is assumed; nothing when it may go both ways.
  std::optional<bool> holds(const Assumed&, flow::TermId predicate);
  /// Takes it that a predicate which may go both ways holds, or does not.
  void assume(Assumed&, flow::TermId predicate, bool holds);
  /// The number that a word must be under what is assumed, or the word.
  flow::TermId settled(const Assumed&, flow::TermId) const;
  /// Where a word hangs on one that can be a few numbers only: the predicate that it is one of them. Notes what is
  /// found out on the way.
  std::optional<flow::TermId> way_to_settle(Assumed&, flow::TermId);
  /// The numbers that a base may be.
  Domain domain(const Assumed&, flow::TermId base) const;

  /// The least number from which on a base may be all that its known bits allow; nothing when that is not so.
  std::optional<std::uint64_t> open_from(const Assumed& s, flow::TermId base) const {
    return domain(s, base).open_from(terms_.bits(base).largest());
  }

  /// The low bits of a word.
  struct Rest {
    Word of{};
    int bits = 0;
  };
  std::optional<Rest> rest(flow::TermId) const;

  /// A counter that starts at one unknown word and grows by another: start + n * step.
  struct Place {
    flow::TermId start = 0, step = 0;
    std::int64_t n = 0;
  };
  std::optional<Place> place(flow::TermId) const;
  /// That of the words that a predicate compares.
  std::optional<Place> compared_place(flow::TermId predicate) const;

 private:
  flow::TermId made(const Word&, flow::TermId base);
  Domain sane(const Assumed&, const Comparison&) const;
  bool can_be(const Assumed&, flow::TermId base, const Domain&) const;

  flow::Terms& terms_;
  flow::Evaluator& evaluator_;
  std::uint64_t equal_, below_, less_;
};

}  // namespace kiln::verifier::explore
