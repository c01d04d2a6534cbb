// What an operation makes of symbolic words: numbers are computed, sums stay sums, and of the rest equal operations on
// equal words are equal words.
#pragma once

#include <string>
#include <vector>

#include "ptx/flow/definitions.hpp"
#include "ptx/flow/known_bits.hpp"
#include "ptx/flow/terms.hpp"
#include "ptx/ir/code.hpp"

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
  /// A name for atoms, the same for equal text.
  std::uint64_t name(const std::string& text);

 private:
  class View;
  TermId compared(const ir::Operation&, OperandTerms&);
  TermId comparison(isa::Compare, isa::ScalarType, TermId a, TermId b);
  TermId both(TermId a, TermId b);
  TermId inverted(TermId p) { return terms_.add(p, terms_.constant(1, 1)); }
  std::optional<TermId> logic(const ir::Operation&, OperandTerms&);
  std::optional<TermId> selected(const ir::Operation&, OperandTerms&);
  std::optional<TermId> linear(const ir::Operation&, OperandTerms&);
  std::optional<TermId> moved(const ir::Operation&, OperandTerms&);
  TermId product(TermId a, TermId b);
  std::vector<TermId> opaque(std::uint32_t operation, OperandTerms&, const std::vector<Bits>&);

  const ir::Code& code_;
  const Definitions& definitions_;
  Terms& terms_;
  std::unordered_map<std::string, std::uint64_t> names_{};
};

}  // namespace kiln::flow
