// What exploring finds. A finding needs an example: numbers for which all that a run has assumed holds.
#pragma once

#include <vector>

#include "ptx/rules/verdict.hpp"
#include "verifier/explore/assumptions.hpp"
#include "verifier/explore/program.hpp"
#include "verifier/explore/turn.hpp"
#include "verifier/mistakes.hpp"

namespace kiln::verifier::explore {

/// A rule that a kernel breaks, and where.
struct Breach {
  rules::Verdict verdict{};
  const ir::Operation* operation = nullptr;
  const ir::Operation* earlier = nullptr;  // the other access or operation
  std::string got{};
  std::string example{};                 // "n = 3 and stages = 4": under which it happens
  std::string_view what = other_access;  // what `earlier` is
  std::string repair{};
  std::vector<Premise> premises{};          // it is known under these alone
  std::vector<flow::TermId> least_words{};  // words of parameters that must be zero or less on the way here
  /// Numbers are known under which a run comes here. False only for what hardware keeps.
  bool is_certain = true;
};

/// Numbers for parameters and other unknown words.
using Example = std::map<flow::TermId, std::uint64_t>;

class Findings {
 public:
  Findings(const Program& program, Symbols& symbols, const Budget& budget)
      : program_(program), symbols_(symbols), budget_(budget) {}

  /// The state that runs: what is found from now on is found in it.
  void run(const State& s) { state_ = &s; }
  /// Keeps a verdict if it is broken, once for each operation and rule: if possible, in a state that a run is known to
  /// come to, and that needs no parameter to be zero and no larger grid. Throws Unfollowed if the verdict is an error
  /// and no numbers are known under which a run comes to the state, or if the operation `may` not happen. What hardware
  /// keeps is kept without numbers: whether a run comes there does not change what happens next.
  void add(const rules::Verdict& v, const ir::Operation& op, const ir::Operation* earlier = nullptr,
           std::string got = {}, bool may = false) {
    add(Breach{v, &op, earlier, std::move(got)}, may);
  }
  void add(Breach, bool may = false);
  const std::vector<Breach>& all() const { return breaches_; }
  bool any_error() const;
  /// A verdict is an error of an operation for which none of its rule is kept yet.
  bool is_new_error(const rules::Verdict&, const ir::Operation&) const;

  /// Numbers under which a run comes to a state; nothing when none are known, or words out of memory have a part in it.
  std::optional<Example> example(const State& s) { return example(s, failed_searches_); }
  /// Why it is not known whether a run comes to a state that `what` names ("a deadlock"): the loads whose words decide,
  /// and what would be followed in their place.
  std::string doubt(const State& s, std::string_view what) const;
  /// What an example needs that only a launch says: more CTAs in the grid than a kernel shows that asks for its CTA's
  /// place, which are two. An example that needs no more takes its place, if there is one.
  std::vector<Premise> grid_premises(const State&, Example&);
  /// Words of parameters alone that a run must find to be zero or less to come to a state.
  std::vector<flow::TermId> least_words(const State&) const;
  /// Numbers for parameters, for people; empty when what is assumed says nothing of parameters.
  std::string text(const Example&) const;

 private:
  std::optional<Example> example(const State&, int& failed_searches);

  const Program& program_;
  Symbols& symbols_;
  const Budget& budget_;
  const State* state_ = nullptr;
  std::vector<Breach> breaches_{};
  std::map<std::pair<const ir::Operation*, rules::Rule>, std::size_t> reported_{};  // index of the breach
  // For examples: the most that may fail, so that what hardware keeps leaves searches for errors.
  static constexpr int most_failed_searches = 2;
  int failed_searches_ = 0, failed_searches_for_kept_ = 0;
};

}  // namespace kiln::verifier::explore
