// What an operation makes of symbolic words: numbers are computed, sums stay sums, and of the rest equal operations on
// equal words are equal words.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ptx/flow/definitions.hpp"
#include "ptx/flow/known_bits.hpp"
#include "ptx/flow/numbers.hpp"
#include "ptx/flow/terms.hpp"
#include "ptx/ir/code.hpp"
#include "ptx/ops/operations.hpp"

namespace kiln::flow {

/// Where the words of operands come from.
class OperandTerms {
 public:
  virtual ~OperandTerms() = default;
  /// A register, a special register, a symbol's address or a number, offsets added; predicates are words of one bit.
  virtual TermId term(const ir::Argument&, int width) = 0;
};

/// Evaluates the operations of one function that work on words: arithmetic, logic, moves, comparisons. What touches
/// memory or other threads is the caller's.
class Evaluator {
 public:
  Evaluator(const ir::Code&, const Definitions&, Terms&);

  /// The words that the operation writes, in the order of Definitions::written.
  std::vector<TermId> results(std::uint32_t operation, OperandTerms&);
  /// The predicate that two words are the same.
  TermId equal(TermId a, TermId b);
  /// The predicate that a is less than b.
  TermId less(TermId a, TermId b, bool is_signed);
  /// The rest of a word modulo 2^bits.
  TermId low_bits(TermId a, int bits);
  /// `a` where the predicate holds, `b` where it does not.
  TermId choice(TermId predicate, TermId a, TermId b, int width);
  /// What generic addresses of shared memory have more than the addresses themselves.
  TermId shared_window();
  /// The same of parameters.
  TermId parameter_window();
  /// A name for atoms, the same for equal text.
  std::uint64_t name(const std::string& text);
  /// What a term is made of in the end: atoms that nothing here has made of others (parameters, words out of memory,
  /// what the caller has named), and those that are low bits of another word.
  const std::set<TermId>& pieces(TermId);
  /// The predicates of the choices that a term is made of.
  const std::set<TermId>& chosen_by(TermId);
  /// The term hangs on how words compare.
  bool compares(TermId);
  bool is_leaf(TermId atom) const { return makers_[terms_.atom_of(atom)->name - 1].kind == Maker::Kind::leaf; }
  /// The term with numbers in place of leaves; a constant when all of them are given and their operations are modelled.
  TermId with(TermId, const std::map<TermId, std::uint64_t>& leaves);
  /// The word and the number of bits when an atom is the low bits of a word.
  std::optional<std::pair<TermId, int>> low_bits_of(const Terms::Atom&) const;
  /// A term as text, for people: "4 * below(parameter(16, 4), 3) + 1". Cut off after `most` characters.
  std::string text(TermId, std::size_t most = 100) const;

 private:
  class View;
  class Given;
  /// How an atom's word comes about, if `results` made it: a result of an operation, or part of one.
  struct Maker {
    enum class Kind : std::uint8_t { leaf, equal, below, less, both, select, product, low, operation };
    Kind kind = Kind::leaf;
    std::uint32_t operation = 0, result = 0;
  };
  std::uint64_t name(const std::string& text, Maker);
  void append(std::string&, TermId, std::size_t most) const;
  TermId with(TermId, const std::map<TermId, std::uint64_t>& numbers, std::unordered_map<TermId, TermId>& known);
  TermId remade(const Terms::Atom&, const Maker&, int width, const std::vector<TermId>& operands);
  TermId compared(const ir::Operation&, const ops::Alu&, OperandTerms&);
  TermId comparison(isa::Compare, isa::ScalarType, TermId a, TermId b);
  TermId both(TermId a, TermId b);
  template <class Of>
  std::optional<TermId> of_chosen(TermId chosen, Of of);
  TermId inverted(TermId p) { return terms_.add(p, terms_.constant(1, 1)); }
  std::optional<TermId> logic(const ir::Operation&, const ops::Alu&, OperandTerms&);
  std::optional<TermId> selected(const ir::Operation&, const ops::Alu&, OperandTerms&);
  std::optional<TermId> linear(const ir::Operation&, const ops::Alu&, OperandTerms&);
  std::optional<TermId> viewed(const ir::Operation&, const ops::Alu&, OperandTerms&);
  std::optional<TermId> moved(const ir::Operation&, const ops::Alu&, OperandTerms&);
  std::optional<TermId> floating(const ir::Operation&, const ops::Alu&, OperandTerms&);
  TermId product(TermId a, TermId b);
  static std::span<const ir::Argument> sources(const ir::Operation&);  // of those that are read
  static int common_zeros(const Terms::Sum&);
  TermId divided(TermId a, int zeros);
  std::optional<TermId> remainder(const ir::Operation&, const ops::Alu&, OperandTerms&);
  std::optional<TermId> bitwise(const ir::Operation&, const ops::Alu&, OperandTerms&);
  std::optional<TermId> kept(TermId word, std::uint64_t mask, std::uint64_t free);
  std::vector<TermId> opaque(std::uint32_t operation, OperandTerms&, const std::vector<Bits>&);

  const ir::Code& code_;
  const Definitions& definitions_;
  Terms& terms_;
  std::unordered_map<std::string, std::uint64_t> names_{};
  std::vector<std::string> spelled_{};  // by name - 1
  std::vector<Maker> makers_{};
  std::unordered_map<TermId, std::set<TermId>> pieces_{}, chosen_by_{};
  std::unordered_map<TermId, bool> compares_{};
};

}  // namespace kiln::flow
