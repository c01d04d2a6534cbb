// Runs the slice of a kernel on symbolic words. Every warp of a cluster goes on for as long as it can; an asynchronous
// operation is done as soon as it is issued. What a thread may rely on is what it knows (events.hpp), not what has
// happened, so one order of steps stands for all (barriers.hpp says when).
#pragma once

#include "verifier/explore/copies.hpp"
#include "verifier/explore/join.hpp"
#include "verifier/explore/tensor_memory.hpp"
#include "verifier/explore/warpgroup.hpp"

namespace kiln::verifier::explore {

/// Why no thread goes on.
struct Stop {
  enum class Kind : std::uint8_t { finished, choice, deadlock, unfollowed };
  Kind kind = Kind::finished;
  flow::TermId choice = 0;      // the predicate that may go both ways
  std::string what{};           // unfollowed: what is not known
  bool may_be_nothing = false;  // a rule would be broken if a run came here, and none is known that does
  const ir::Operation* operation = nullptr;
};

class Machine {
 public:
  explicit Machine(const Program& program, Deadline deadline = no_deadline)
      : program_(program), budget_(!program.shape.parameters.empty(), deadline) {}

  State start();
  /// Runs until no thread can go on, or what happens next is not decided.
  Stop run(State&);
  /// Assumes that a predicate holds, or that it does not; threads that wait for the choice go on.
  void assume(State&, flow::TermId predicate, bool holds);
  /// Bounds are compared in several rounds, and no error is found yet: there may be many ways.
  bool has_rounds() const { return rounds_.any_repeated() && !findings_.any_error(); }

  const Program& program() const { return program_; }
  Symbols& symbols() { return symbols_; }
  Rounds& rounds() { return rounds_; }
  Values& values() { return values_; }
  Findings& findings() { return findings_; }
  Budget& budget() { return budget_; }
  /// Something was learnt that a run should know from its start: of bounds (Rounds), or that ways must be followed
  /// apart.
  bool must_restart() const { return must_restart_ || rounds_.must_restart(); }
  void restart(bool is_last);
  /// By operation: some run has executed it.
  const std::vector<bool>& followed() const { return followed_; }
  /// Tensor copies of which nothing says how large their boxes are.
  const std::vector<const ir::Operation*>& unknown_copies() const { return copies_.unknown(); }

 private:
  bool advance(State&, std::uint32_t cta, std::uint32_t warp);
  bool go_to(State&, const Parting&);
  Status take_turn(State&, std::uint32_t cta, std::uint32_t warp, Fragment&);
  void merge(Warp&, Mask within = all_lanes);
  Status step(Turn&);
  Status synchronise(Turn&);
  Status branch(Turn&);
  bool go_both_ways(Turn&);
  bool recurs(const Turn&, flow::TermId predicate);
  Status jump_by_table(Turn&);
  Status leave(Turn&);
  std::optional<Mask> guard_lanes(Turn&);
  std::optional<bool> decide(Turn&, int lane, flow::TermId predicate, std::uint32_t part = 1);
  bool guess_guard(Turn&, LaneTerms&);
  bool is_number_by(flow::TermId, const std::set<flow::TermId>& predicates);
  bool settle_choices(Turn&, std::uint32_t slot);
  bool settle_operands(Turn&);

  const Program& program_;
  const ir::Code& code_ = program_.code;
  Budget budget_;
  std::vector<bool> followed_ = std::vector<bool>(code_.operations.size());
  std::vector<bool> apart_ = followed_;            // branches whose ways are not joined
  std::map<std::uint32_t, flow::TermId> asked_{};  // by branch: the predicate that it asked for first
  bool must_restart_ = false;
  Symbols symbols_{program_.facts};
  Rounds rounds_{program_, symbols_};
  Values values_{program_, symbols_, rounds_, budget_};
  Findings findings_{program_, symbols_, budget_};
  TileJudge tiles_{};
  Memory memory_{program_, findings_, values_, tiles_.sets()};
  Barriers barriers_{program_, findings_, values_, memory_};
  Copies copies_{program_, findings_, values_, memory_, barriers_};
  TensorMemory tensor_memory_{program_, findings_, values_, memory_, barriers_, tiles_};
  Warpgroups warpgroups_{program_, findings_, values_, memory_, tiles_};
};

}  // namespace kiln::verifier::explore
