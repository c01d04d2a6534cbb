// What a run assumes of values that the kernel alone does not determine: the outcomes of undecided predicates, and what
// follows from them for others ("3 < n" and "n is not 4" imply 4 < n).
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ptx/flow/evaluate.hpp"
#include "verifier/explore/state.hpp"
#include "verifier/facts.hpp"

namespace kiln::verifier::explore {

class Assumptions {
 public:
  Assumptions(flow::Terms& terms, flow::Evaluator& evaluator);

  /// A word as base + offset or offset - base. The base is a sum without a number; its low bits may be cleared.
  struct Word {
    flow::TermId base = 0;
    std::uint64_t offset = 0;
    bool negated = false;
    int cleared = 0;

    /// The word if the base is `v`.
    std::uint64_t at(std::uint64_t v) const {
      const std::uint64_t b = v & ~flow::low_mask(cleared);
      return negated ? offset - b : offset + b;
    }
    /// The base if the word is `v`; the least of several.
    std::uint64_t base_at(std::uint64_t v) const { return negated ? offset - v : v - offset; }
    /// The numbers of the base if the word lies in a span.
    std::optional<Span> spanned(const Span& s, std::uint64_t mask) const;
  };
  const Word& word(flow::TermId) const;

  /// A word compared with a number: equal, below (unsigned) or less (signed); the number may be the first operand. Two
  /// words that are compared are their difference compared with zero. A signed difference does not overflow.
  struct Comparison {
    Word word{};
    std::uint64_t number = 0;
    bool equal = false, is_signed = false, word_is_first = true;
    bool opposite = false;  // the predicate is its contrary

    /// The numbers of the base for which the comparison (not its contrary) holds.
    std::optional<Span> span(int width) const;
    /// The numbers of the base for which the signed sum does not overflow. Source languages let programs rely on that.
    std::optional<Span> without_overflow(int width) const;
  };
  /// The comparison that a predicate is, if it is one of a word with a number.
  std::optional<Comparison> comparison(flow::TermId predicate) const;

  /// Two predicates that hold both.
  struct Conjunction {
    std::array<flow::TermId, 2> parts{};
    bool opposite = false;  // the predicate is its contrary
  };
  std::optional<Conjunction> conjunction(flow::TermId predicate) const;

  /// The comparison with another word in place of its base, or in place of the word whose low bits its base is.
  flow::TermId about(flow::TermId predicate, flow::TermId other);

  /// Whether a predicate holds under what is assumed; nothing when it may go both ways.
  std::optional<bool> holds(const Assumed&, flow::TermId predicate);
  /// Assumes that a predicate which may go both ways holds, or that it does not.
  void assume(Assumed&, flow::TermId predicate, bool holds);
  /// The number that a word must be under what is assumed; else the word.
  flow::TermId settled(const Assumed&, flow::TermId) const;
  /// If a word depends on one that can only be a few numbers: the predicate that this one is one of them. Assumes what
  /// turns out to be decided.
  std::optional<flow::TermId> way_to_settle(Assumed&, flow::TermId);
  /// The numbers that a base may be.
  Domain domain(const Assumed&, flow::TermId base) const;

  /// The least number above which a base may be any number that its known bits allow; nothing if there is none.
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
  /// The counter among the words that a predicate compares.
  std::optional<Place> compared_place(flow::TermId predicate) const;

 private:
  flow::TermId rebased(const Word&, flow::TermId base);
  Domain sane(const Assumed&, const Comparison&) const;
  bool may_be(const Assumed&, flow::TermId leaf, std::uint64_t number) const;
  bool can_be(const Assumed&, flow::TermId base, const Domain&) const;
  Word split(flow::TermId) const;
  const std::pair<const flow::TermId, Domain>* listable(const Assumed&, flow::TermId predicate);
  bool holds_for(flow::TermId predicate, flow::TermId leaf, std::uint64_t number);
  std::optional<bool> listed(const Assumed&, flow::TermId predicate);
  void narrow(Assumed&, flow::TermId predicate, bool holds);

  flow::Terms& terms_;
  flow::Evaluator& evaluator_;
  std::uint64_t equal_, below_, less_, both_;
  mutable std::unordered_map<flow::TermId, Word> words_{};
  mutable std::unordered_set<flow::TermId> bases_{};          // of sums of several words
  std::unordered_map<flow::TermId, flow::TermId> sources_{};  // by predicate, the only word that it is made of; 0: none
  std::map<std::pair<flow::TermId, std::uint64_t>, bool> outcomes_{};  // of predicates for numbers
};

/// The words of a kernel that are not known, and what is assumed of them.
class Symbols {
 public:
  explicit Symbols(const Facts& facts)
      : evaluator_(facts.code, facts.definitions, terms_), assumptions_(terms_, evaluator_) {}
  Symbols(const Symbols&) = delete;

  flow::Terms& terms() { return terms_; }
  flow::Evaluator& evaluator() { return evaluator_; }
  Assumptions& assumptions() { return assumptions_; }

  /// An unknown word, the same for each call with this name and these operands.
  flow::TermId named(const std::string& name, int width, std::span<const flow::TermId> operands = {},
                     flow::Bits known = flow::Bits::unknown()) {
    return terms_.atom(evaluator_.name(name), operands, width, known);
  }
  /// An unknown word unlike all others: out of memory, or of an operation that is not followed.
  flow::TermId fresh(const char* name, int width, flow::Bits known = flow::Bits::unknown()) {
    const flow::TermId number[] = {terms_.constant(fresh_.size())};
    return *fresh_.insert(terms_.atom(evaluator_.name(name), number, width, known)).first;
  }
  /// Such a word out of memory.
  flow::TermId loaded(const ir::Operation& load, int width) {
    const flow::TermId word = fresh("loaded", width);
    loads_[word] = &load;
    return word;
  }
  /// The load of a word; null for others.
  const ir::Operation* load_of(flow::TermId atom) const {
    const auto found = loads_.find(atom);
    return found == loads_.end() ? nullptr : found->second;
  }
  bool is_fresh(flow::TermId atom) const { return fresh_.contains(atom); }
  bool has_fresh() const { return !fresh_.empty(); }

 private:
  flow::Terms terms_{};
  flow::Evaluator evaluator_;
  Assumptions assumptions_;
  std::set<flow::TermId> fresh_{};
  std::unordered_map<flow::TermId, const ir::Operation*> loads_{};
};

}  // namespace kiln::verifier::explore
