// The words of a kernel that are not known, and what is assumed of them.
#pragma once

#include <set>
#include <string>

#include "verifier/explore/assumptions.hpp"
#include "verifier/explore/program.hpp"

namespace kiln::verifier::explore {

class Symbols {
 public:
  explicit Symbols(const Program& program)
      : evaluator_(program.code, program.facts.definitions, terms_), assumptions_(terms_, evaluator_) {}
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
  bool is_fresh(flow::TermId atom) const { return fresh_.contains(atom); }
  bool has_fresh() const { return !fresh_.empty(); }

 private:
  flow::Terms terms_{};
  flow::Evaluator evaluator_;
  Assumptions assumptions_;
  std::set<flow::TermId> fresh_{};
};

}  // namespace kiln::verifier::explore
