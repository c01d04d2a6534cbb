// What a run takes for granted of values that the kernel alone does not say: which way its undecided predicates go, and
// what follows from that for others ("3 < n" and "n is not 4" say that 4 < n).
#pragma once

#include <optional>
#include <set>

#include "ptx/flow/evaluate.hpp"
#include "verifier/protocol/state.hpp"

namespace kiln::verifier::protocol {

class Assumptions {
 public:
  Assumptions(flow::Terms& terms, flow::Evaluator& evaluator);

  /// One word compared with a number: equal, below or, signed, less; or the number below the word.
  struct Comparison {
    flow::TermId word = 0;
    std::uint64_t number = 0;
    bool equal = false, is_signed = false, word_is_first = true;
    bool opposite = false;  // the predicate is its contrary
  };
  /// The comparison that a predicate is, if it is one of a word with a number.
  std::optional<Comparison> comparison(flow::TermId predicate) const;

  /// Whether a predicate holds under what is assumed; nothing when it may go both ways.
  std::optional<bool> holds(const State&, flow::TermId predicate);
  /// True when what is assumed of one word may rule out what is assumed of another, as they are made of the same ones.
  bool may_contradict(const State&) const;
  /// Takes it that a predicate which may go both ways holds, or does not.
  void assume(State&, flow::TermId predicate, bool holds);

 private:
  std::optional<bool> within(const Range&, const Comparison&) const;
  void collect(flow::TermId, std::set<flow::TermId>& atoms) const;
  static void narrow(Range&, const Comparison&, bool holds, int width);

  flow::Terms& terms_;
  std::uint64_t equal_, below_, less_;
};

}  // namespace kiln::verifier::protocol
