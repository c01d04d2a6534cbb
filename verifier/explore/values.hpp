// The words of registers. An operation is evaluated once if all lanes have the same operands, else lane by lane.
#pragma once

#include <map>
#include <vector>

#include "verifier/explore/rounds.hpp"

namespace kiln::verifier::explore {

class Values {
 public:
  Values(const Program& program, Symbols& symbols, Rounds& rounds, Budget& budget)
      : program_(program), symbols_(symbols), rounds_(rounds), budget_(budget) {}

  /// The words of the slice's registers before anything is written.
  std::vector<WordId> unset();
  /// What a launch says of the CTAs' places in the grid.
  void start(State&);
  /// An operand as one lane has it.
  flow::TermId read(const Turn&, const ir::Argument&, int lane, int width);
  /// The same where it is a number.
  std::optional<std::uint64_t> known(const Turn& t, const ir::Argument& a, int lane, int width) {
    return terms_.value(read(t, a, lane, width));
  }
  /// The number that an operand must be. Throws Unfollowed where it is none; `what` says what it is.
  std::uint64_t number(const Turn&, const ir::Argument&, int lane, int width, const char* what);
  /// The same of the first lane that executes.
  std::uint64_t number(const Turn& t, const ir::Argument& a, int width, const char* what) {
    return number(t, a, t.leader(), width, what);
  }
  /// Where a generic address of a parameter points: the parameter's number and the byte in it. Nothing where that is
  /// not known.
  std::optional<ParameterPlace> parameter_place(const Turn&, const ir::Argument&, int lane);
  /// The lanes that execute have these words for a result of their operation.
  void write(Turn&, std::size_t result, const LaneTerms&);
  /// Executes an operation of the slice that makes words.
  void evaluate(Turn&);

  /// Calls f(TermId) for each word that a live register holds or that is kept in shared memory.
  template <class F>
  void each_word(const State&, F f) const;

  Words& words() { return words_; }
  Symbols& symbols() { return symbols_; }

 private:
  struct Reader;
  std::uint32_t clusters(std::size_t axis) const;
  flow::TermId cluster_place(std::size_t axis);
  flow::TermId special(const Turn&, const ir::Argument&, int lane);
  flow::TermId settled(const Turn&, flow::TermId);
  bool evaluate_across(Turn&);
  std::optional<flow::TermId> shuffled(const Turn&, int lane);
  std::optional<flow::TermId> mapped(const Turn&, int lane);
  flow::TermId vote(const Turn&);
  std::optional<flow::TermId> common_operand(const Turn&);
  bool differs(const Turn&);
  std::vector<LaneTerms>* known_results(const Turn&);
  std::vector<LaneTerms> compute(const Turn&, bool differ);
  void load(Turn&);
  static bool is_flag(const Turn&, std::uint64_t address);
  Unknowns& unknowns(const Turn&, isa::Space, std::optional<std::uint64_t> at, Unknowns& here) const;
  flow::TermId unknown_word(Unknowns&, std::uint32_t address, const ir::Operation& load, int width);
  std::optional<flow::TermId> stored_word(const Turn&, std::uint64_t at, int bytes, int width);
  std::optional<std::uint64_t> given_word(flow::TermId address, int bytes) const;
  void note_pointer(flow::TermId pointer, flow::TermId address);
  std::optional<std::uint64_t> word_of_launch(flow::TermId address, int bytes, bool is_signed) const;

  const Program& program_;
  const ir::Code& code_ = program_.code;
  Symbols& symbols_;
  flow::Terms& terms_ = symbols_.terms();
  flow::Evaluator& evaluator_ = symbols_.evaluator();
  Assumptions& assumptions_ = symbols_.assumptions();
  Rounds& rounds_;
  Budget& budget_;
  Words words_{};
  std::map<std::vector<std::uint32_t>, std::vector<LaneTerms>> results_{};  // by operation, lanes, warp and operands
  std::map<flow::TermId, std::uint32_t> parameters_{};                      // by their addresses
  std::map<flow::TermId, std::span<const std::uint8_t>> content_{};         // by the pointers to it
};

template <class F>
void Values::each_word(const State& s, F f) const {
  each_fragment(s, [&](const Fragment& fragment) {
    for (const ir::RegisterId r : program_.live(fragment.at))
      words_.each(fragment.words[program_.slot(r)], fragment.lanes, f);
  });
  for (const Cta& cta : s.ctas)
    for (const auto& [at, stored] : cta.stored)
      for (const auto& [bytes, t] : stored) f(t);
}

}  // namespace kiln::verifier::explore
