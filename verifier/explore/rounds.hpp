// Comparisons with a bound that is not known. States are alike that differ only in how far counters and what is known
// of their bound have moved together (key.hpp). That holds as long as every thread that compares with the bound has
// moved along: a loop that begins anew and a role that begins late have not. Threads therefore compare in rounds. A
// round is closed once all threads that take part have come to it. Only then do states move along with it, and a thread
// that comes with a new number compares with the bound of the next round. A bound that is compared in several rounds is
// a word of its own in each; only that these words are equal is forgotten.
#pragma once

#include <map>
#include <set>

#include "verifier/explore/assumptions.hpp"
#include "verifier/explore/program.hpp"
#include "verifier/explore/turn.hpp"

namespace kiln::verifier::explore {

class Rounds {
 public:
  Rounds(const Program& program, Symbols& symbols) : program_(program), symbols_(symbols) {}

  /// The predicate to decide in place of one that a lane asks for: the same, or one about the bound in the round that
  /// the threads are in. `lane` is lanes_per_warp where all lanes ask for the same; `part` tells predicates of one
  /// operation apart, 1 if there is one.
  flow::TermId question(Turn&, int lane, flow::TermId predicate, std::uint32_t part = 1);
  /// A predicate of a round as what it says of the bound in all rounds.
  flow::TermId of_all_rounds(flow::TermId predicate);
  /// Closes rounds that all threads have come to and forgets those that all have left; before states are compared.
  void settle(State&);

  /// From where on a bound moves along with the threads that compare with it in a round, or in the round that these
  /// threads are in: the least that it may be, or all that it may. Nothing while it does not move.
  std::optional<std::uint64_t> frontier(const State&, flow::TermId bound, std::uint32_t round);
  std::optional<std::uint64_t> frontier(const State&, const Fragment&, flow::TermId bound);
  struct InRound {
    flow::TermId bound = 0;
    std::uint32_t round = 0;
  };
  /// What a word is that stands for a bound in a round, or for its low bits.
  std::optional<InRound> round_of(flow::TermId base) const;
  static std::uint32_t first_round(const State&, flow::TermId bound);

  /// Counters of a family are compared with a word. States are alike if their counters are equally far from it.
  void note_comparison(std::uint32_t family, flow::TermId word);
  /// The words that counters of a family have been compared with, without their numbers.
  const std::set<flow::TermId>& bases(std::uint32_t family) { return bases_[family]; }
  /// A register holds a word: what counts of it must be known before states move along with it.
  void note_parts(const Turn&, ir::RegisterId, flow::TermId word);
  /// What counts of the words that have been made of a base, but for comparisons.
  flow::Demand parts(flow::TermId base) const;

  /// Bounds are compared in several rounds.
  bool any_repeated() const { return !repeated_.empty(); }
  /// Something was learnt of which threads compare with what, or of what counts, that a run should know from its start.
  bool must_restart() const { return must_restart_; }
  void restart(bool is_last) { must_restart_ = false, is_last_ = is_last, participants_ = found_; }

 private:
  // The warps that compare with a bound, by CTA and number, and where.
  using Participants = std::set<std::pair<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>>;

  std::uint64_t first_moving(flow::TermId bound) const;
  flow::TermId in_round(flow::TermId bound, std::uint32_t round);
  std::uint32_t enter(Turn&, flow::TermId bound, std::uint64_t place, std::uint64_t number);
  bool has_all(const State&, flow::TermId bound, std::uint32_t round) const;
  static bool is_long(const State&, flow::TermId bound, std::uint32_t round);

  const Program& program_;
  Symbols& symbols_;
  flow::Terms& terms_ = symbols_.terms();
  Assumptions& assumptions_ = symbols_.assumptions();
  std::map<std::uint32_t, std::set<flow::TermId>> bases_{};        // by family
  std::map<flow::TermId, Participants> participants_{}, found_{};  // known when the run began; and found on the way
  std::set<flow::TermId> repeated_{};                              // bounds that are compared in several rounds
  std::map<flow::TermId, InRound> in_rounds_{};                    // words of bounds in their rounds
  std::map<std::uint64_t, std::uint64_t> strides_{};               // by place in the code: how far numbers move on
  std::map<std::pair<flow::TermId, std::uint64_t>, std::uint64_t> first_numbers_{};  // of a round, by bound and place
  std::map<flow::TermId, flow::Demand> parts_{};                                     // by base
  bool must_restart_ = false, is_last_ = false;
};

}  // namespace kiln::verifier::explore
