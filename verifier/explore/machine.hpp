// Runs a kernel's protocol on symbolic words: every warp of a cluster goes on for as long as it can, asynchronous
// operations are done as soon as they are issued, and what a thread may rely on is what it knows, not what has
// happened.
//
// One order of steps stands for all: phases of an mbarrier are determined when every arrival in a phase knows the phase
// before it complete, every wait knows the phase before the one that it waits for, and no phase completes before those
// who wait for the one before have seen it. All three are checked on the way.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "ptx/ops/operations.hpp"
#include "ptx/rules/verdict.hpp"
#include "verifier/explore/assumptions.hpp"
#include "verifier/explore/program.hpp"
#include "verifier/explore/shadow.hpp"
#include "verifier/explore/tiles.hpp"
#include "verifier/explore/turn.hpp"
#include "verifier/footprint.hpp"

namespace kiln::verifier::explore {

/// Why nobody goes on.
struct Stop {
  enum class Kind : std::uint8_t { finished, choice, deadlock, unfollowed };
  Kind kind = Kind::finished;
  flow::TermId choice = 0;      // the predicate that may go both ways
  std::string what{};           // unfollowed: what is not known
  bool may_be_nothing = false;  // a rule would be broken if a run came here, and none is known that does
  const ir::Operation* operation = nullptr;
};

/// A rule that the protocol breaks, and where.
struct Breach {
  rules::Verdict verdict{};
  const ir::Operation* operation = nullptr;
  const ir::Operation* earlier = nullptr;  // the other access or operation
  std::string got{};
  std::string example{};                       // "n = 3 and stages = 4": under which it happens
  const char* what = "the other one is here";  // what `earlier` is
  std::string repair{};
};

/// Bytes that are looked at where it is not known how many there are: the front of a box or of an operand.
inline constexpr std::uint32_t looked_at = 16;

class Machine {
 public:
  explicit Machine(const Program&);

  State start();
  Stop run(State&);
  Assumptions& assumptions() { return assumptions_; }
  flow::Terms& terms() { return terms_; }
  const Words& words() const { return words_; }
  flow::Evaluator& evaluator() { return evaluator_; }
  /// The words that members of a family have been compared as, without their numbers.
  const std::set<flow::TermId>& bases(std::uint32_t family) { return bases_[family]; }
  /// An unknown word of its own, out of memory or out of what is not followed.
  bool is_fresh(flow::TermId atom) const { return fresh_.contains(atom); }
  bool has_fresh() const { return !fresh_.empty(); }
  /// Takes it that a predicate holds, or does not.
  void assume(State&, flow::TermId predicate, bool holds);
  /// Numbers under which a run comes to a state; nothing when none are known, or words out of memory have a part in it.
  std::optional<Assumptions::Example> example(const State&);
  /// Numbers for parameters, for people; empty when what is assumed says nothing of parameters.
  std::string text(const Assumptions::Example&) const;
  /// Closes rounds that all have come to and forgets those that all have left; before states are compared.
  void settle_rounds(State&);
  /// From where on a bound moves along with those who compare with it in a round, or with the round that threads are
  /// in: the least that it may be, or all that it may. Nothing while it does not move.
  std::optional<std::uint64_t> moved(const State&, flow::TermId bound, std::uint32_t round);
  std::optional<std::uint64_t> moved(const State&, const Fragment&, flow::TermId bound);
  struct InRound {
    flow::TermId bound = 0;
    std::uint32_t round = 0;
  };
  /// What a word is that stands for a bound in a round, or for its low bits.
  std::optional<InRound> round_of(flow::TermId base) const;
  static std::uint32_t first_round(const State&, flow::TermId bound);
  /// What counts of the words that have been made of a base, but for comparisons.
  flow::Demand parts(flow::TermId base) const;
  /// Something was learnt of who compares with what that a run should know from its start.
  bool wants_again() const { return again_; }
  /// Bounds are compared in several rounds, and nothing is found yet: there may be many ways.
  bool has_rounds() const { return !repeated_.empty() && breaches_.empty(); }
  void begin_again(bool is_last) { again_ = false, is_settled_ = is_last, steps_ = 0, participants_ = found_; }
  const std::vector<Breach>& breaches() const { return breaches_; }
  std::uint64_t steps() const { return steps_; }
  /// Counts work as steps, of which a run may take so many.
  void spend(std::uint64_t steps) { steps_ += steps; }

 private:
  class Reader;

  // machine.cpp: control
  static bool chooses(const State&);
  bool advance(State&, std::uint32_t cta, std::uint32_t warp);
  Status step(Turn&);
  Status branch(Turn&);
  Status jump_by_table(Turn&);
  Status leave(Turn&);
  std::optional<Mask> guard_lanes(Turn&);
  std::optional<bool> decide(Turn&, int lane, flow::TermId predicate);
  bool settle_operands(Turn&);
  bool guess_guard(Turn&, LaneTerms&);
  void merge(Warp&);
  bool may_go_on(const State&, const Cta&, const Fragment&) const;

  std::uint64_t enough_steps() const;

  // rounds.cpp
  std::uint64_t first_moving(flow::TermId bound) const;
  flow::TermId in_round(flow::TermId bound, std::uint32_t round);
  std::uint32_t enter_round(Turn&, flow::TermId bound, std::uint64_t place, std::uint64_t number);
  flow::TermId asked(Turn&, int lane, flow::TermId predicate);
  bool has_all(const State&, flow::TermId bound, std::uint32_t round) const;
  bool is_long(const State&, flow::TermId bound, std::uint32_t round) const;
  flow::TermId of_all_rounds(flow::TermId predicate);
  void note_parts(const Turn&, ir::RegisterId, flow::TermId word);

  // values.cpp: words
  void evaluate(Turn&);
  bool differs(const Turn&);
  std::vector<LaneTerms>* made_before(const Turn&);
  std::vector<LaneTerms> make(const Turn&, bool differ);
  bool evaluate_across(Turn&);
  void note_comparison(const Turn&);
  void write(Turn&, std::size_t result, const LaneTerms&);
  void load_word(Turn&);
  std::optional<std::uint64_t> given_word(flow::TermId address, int bytes) const;
  std::optional<flow::TermId> stored_word(const Turn&, std::uint32_t address, int bytes, int width);
  flow::TermId read(const Turn&, const ir::Argument&, int lane, int width);
  flow::TermId settled(const Turn&, flow::TermId);
  flow::TermId special(const Turn&, const ir::Argument&, int lane);
  flow::TermId fresh(const char* what, int width, flow::Bits known = flow::Bits::unknown());
  flow::TermId named(const std::string&, int width, std::span<const flow::TermId> operands = {});
  std::uint64_t number(const Turn&, const ir::Argument&, int lane, int width, const char* what);

  // sync.cpp: barriers
  Status synchronise(Turn&);
  Status barrier(Turn&);
  void note_arrival(Turn&, NamedBarrier&);
  Status cluster_barrier(Turn&);
  Status warp_barrier(Turn&);
  Status mbarrier(Turn&);
  Status wait(Turn&);
  EventId arrive(Turn&, std::uint32_t cta, std::uint32_t address, std::uint32_t count, const Clock&);
  void signal(Turn&, const ir::Argument& object, int lane, const Clock&);
  void complete(State&, std::uint32_t cta, std::uint32_t address, const ir::Operation&);
  Barrier& barrier_at(Turn&, std::uint32_t cta, std::uint32_t address);

  // memory.cpp: accesses
  struct SharedPlace {
    std::uint32_t cta = 0, address = 0;
  };
  std::optional<std::uint64_t> shared_address(const Turn&, const ir::Argument&, int lane);
  static bool knows_own(const Turn&, const Toucher&);
  SharedPlace place(const Turn&, const ir::Argument&, int lane, isa::Space);
  void touch_shared(Turn&);
  void access(Turn&, EventId, Intervals&, std::uint32_t first, std::uint32_t end, Mask lanes);
  rules::Verdict judge(const Turn&, const Toucher& earlier, Mask lanes, const Event& later) const;
  struct PairKnowledge;

  // copies.cpp
  Status copy(Turn&);
  void copy_in(Turn&, int lane);
  void copy_by_threads(Turn&);
  void wait_for_threads_copies(Turn&);
  void arrive_behind_copies(Turn&);
  void request(Turn&, int lane);
  void copy_out(Turn&, int lane);
  std::optional<Box> box_at(const Turn&, const ir::Argument& tensor) const;
  void wait_for_groups(Turn&);
  bool settle_copies(State&, bool may_copy);
  // maps.cpp: tensor maps that the kernel makes
  void edit_map(Turn&);
  Status copy_map(Turn&);
  static void publish_map(Turn&);
  static void acquire_maps(Turn&);
  void judge_map(Turn&, const ir::Argument& tensor);
  // operands.cpp
  std::optional<KnownOperand> known_operand(const Turn&, const ops::Mma&, bool is_a);
  EventId read_operand(Turn&, std::uint32_t cta, const ir::Argument& descriptor, const std::optional<KnownOperand>&);
  void judge_tiles(Turn&, std::uint32_t cta, const ops::Mma&, const std::optional<KnownOperand>& a,
                   const std::optional<KnownOperand>& b);
  void note_tile(Turn&, std::uint32_t cta, std::uint32_t address, const std::optional<Box>&);
  void forget_tiles(State&, const Intervals&, std::uint32_t first, std::uint32_t end);
  // operand_rules.cpp
  void check_columns(const Turn&, std::uint32_t cta, std::uint32_t first, std::uint32_t end);
  void check_lanes(const Turn&, std::uint64_t address);
  void check_uniform(const Turn&, const ir::Argument&, int width);
  void check_issuer(const Turn&);
  void check_descriptor(const Turn&, const ops::Mma&, bool is_a);
  void check_bounds(const Turn&, const Intervals&, std::uint32_t first, std::uint32_t end);
  // lifecycle.cpp
  static void start_ctas(State&);
  void use_remote(const Turn&, std::uint32_t cta);
  void use_memory(const Turn&, const Intervals&);
  EventId note_arrival(Turn&, std::uint32_t cta, std::uint32_t address, Mask lanes, bool is_async);
  void check_init(const Turn&, const Barrier&, bool is_async);
  static void publish(Turn&);
  void exit_cta(State&, std::uint32_t cta);
  // tensor.cpp
  Status tensor(Turn&);
  void allocate(Turn&);
  void deallocate(Turn&);
  void multiply(Turn&);
  void commit(Turn&);
  flow::Bits tensor_address(const Turn&, const Footprint&);
  void touch_tensor(Turn&, EventId, std::uint32_t cta, const Footprint&);
  void move_data(Turn&);
  void consume_loads(Turn&);

  void breach(const rules::Verdict&, const ir::Operation&, const ir::Operation* earlier = nullptr,
              std::string got = {});
  void breach(Breach);

  const Program& program_;
  const ir::Code& code_;
  flow::Terms terms_{};
  flow::Evaluator evaluator_;
  Assumptions assumptions_;
  Words words_{};
  std::vector<Breach> breaches_{};
  std::set<std::pair<const ir::Operation*, rules::Rule>> told_{};
  std::map<std::uint32_t, std::set<flow::TermId>> bases_{};  // by family
  const State* state_ = nullptr;                             // that runs
  // By bound: the warps that compare with it, and where.
  using Participants = std::set<std::pair<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>>;
  std::map<flow::TermId, Participants> participants_{}, found_{};  // from the start; and found on the way
  std::set<flow::TermId> repeated_{};                              // bounds that several rounds compare with
  std::map<flow::TermId, InRound> in_rounds_{};                    // words of bounds in their rounds
  std::map<std::uint64_t, std::uint64_t> steps_of_{};              // by place in the code: how far numbers move on
  std::map<flow::TermId, flow::Demand> parts_{};                   // by base
  std::map<std::pair<flow::TermId, std::uint64_t>, std::uint64_t>
      firsts_{};  // by bound and place: a round's first number
  bool again_ = false, is_settled_ = false;
  std::set<flow::TermId> fresh_{};
  std::map<std::vector<std::uint32_t>, std::vector<LaneTerms>> made_{};  // by operation, lanes, warp and operands
  std::map<flow::TermId, std::uint32_t> parameters_{};                   // by their addresses
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> copies_a_phase_{};  // by CTA and mbarrier
  std::uint64_t steps_ = 0, run_from_ = 0;
  TileJudge tiles_{};
  int sought_in_vain_ = 0;  // examples
  bool is_guess_ = false;   // what is being judged may not happen
};

}  // namespace kiln::verifier::explore
