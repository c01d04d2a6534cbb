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

#include "ptx/rules/verdict.hpp"
#include "verifier/footprint.hpp"
#include "verifier/protocol/assumptions.hpp"
#include "verifier/protocol/program.hpp"
#include "verifier/protocol/shadow.hpp"

namespace kiln::verifier::protocol {

/// Why nobody goes on.
struct Stop {
  enum class Kind : std::uint8_t { finished, choice, deadlock, unfollowed };
  Kind kind = Kind::finished;
  flow::TermId choice = 0;  // the predicate that may go both ways
  std::string what{};       // unfollowed: what is not known
  const ir::Operation* operation = nullptr;
};

/// A rule that the protocol breaks, and where.
struct Breach {
  rules::Verdict verdict{};
  const ir::Operation* operation = nullptr;
  const ir::Operation* earlier = nullptr;  // the other access or operation
  std::string got{};
};

/// Thrown where a run cannot be followed.
struct Unfollowed {
  std::string what{};
  const ir::Operation* operation = nullptr;
};

/// Bytes that are looked at of what does not say how large it is: the front of a tensor copy's box or of an operand.
inline constexpr std::uint32_t looked_at = 16;

class Machine {
 public:
  explicit Machine(const Program&);

  State start();
  Stop run(State&);
  Assumptions& assumptions() { return assumptions_; }
  flow::Terms& terms() { return terms_; }
  const Words& words() const { return words_; }
  const std::vector<Breach>& breaches() const { return breaches_; }
  std::uint64_t steps() const { return steps_; }

 private:
  // What one operation is executed with.
  struct Turn {
    State& s;
    Cta& cta;
    Warp& warp;
    Fragment& f;
    const ir::Operation& op;
    std::uint32_t cta_index = 0, warp_index = 0, at = 0;
    Mask lanes = 0;
    int leader() const { return std::countr_zero(lanes); }
  };
  class Reader;
  enum class Status : std::uint8_t { next, blocked, jumped };

  // machine.cpp: control
  bool advance(State&, std::uint32_t cta, std::uint32_t warp);
  Status step(Turn&);
  Status branch(Turn&);
  Status leave(Turn&);
  std::optional<Mask> guard_lanes(Turn&);
  std::optional<bool> decide(Turn&, flow::TermId predicate);
  bool converge(Turn&, Mask needed);
  void merge(Warp&);
  bool may_go_on(const State&, const Cta&, const Fragment&) const;

  // values.cpp: words
  void evaluate(Turn&);
  bool evaluate_across(Turn&);
  void write(Turn&, std::size_t result, const LaneTerms&);
  void load_word(Turn&);
  flow::TermId read(const Turn&, const ir::Argument&, int lane, int width);
  flow::TermId special(const Turn&, const ir::Argument&, int lane);
  flow::TermId named(const std::string&, int width, std::span<const flow::TermId> operands = {});
  std::uint64_t number(const Turn&, const ir::Argument&, int lane, int width, const char* what);

  // sync.cpp: barriers
  Status synchronise(Turn&);
  Status barrier(Turn&);
  Status cluster_barrier(Turn&);
  Status warp_barrier(Turn&);
  Status mbarrier(Turn&);
  Status wait(Turn&);
  void arrive(Turn&, std::uint32_t cta, std::uint32_t address, std::uint32_t count, const Clock&);
  void signal(Turn&, const ir::Argument& object, int lane, const Clock&);
  void complete(State&, std::uint32_t cta, std::uint32_t address, const ir::Operation&);
  Barrier& barrier_at(Turn&, std::uint32_t cta, std::uint32_t address);

  // knowledge.cpp
  static EventId add_event(State&, Event);
  static void learn(Warp&, Mask lanes, EventId);
  static void made(Warp&, Mask lanes, EventId);
  static Clock released(Warp&, Mask lanes);
  static void acquire(Warp&, Mask lanes, const Clock&);
  static void fence(Warp&, Mask lanes);
  static void meet(Warp&, Mask lanes);
  static bool knows(const Turn&, EventId);
  static bool comes_behind(const Turn&, EventId);

  // memory.cpp: accesses
  struct SharedPlace {
    std::uint32_t cta = 0, address = 0;
  };
  SharedPlace place(const Turn&, const ir::Argument&, int lane, isa::Space);
  void touch_shared(Turn&);
  EventId access_event(Turn&, bool writes, Proxy, bool is_async);
  void access(Turn&, EventId, Intervals&, std::uint32_t first, std::uint32_t end, Mask lanes);
  rules::Verdict judge(const Turn&, const Toucher& earlier, Mask lanes, const Event& later) const;

  // copies.cpp
  Status copy(Turn&);
  void copy_in(Turn&, int lane);
  void copy_out(Turn&, int lane);
  void wait_for_groups(Turn&);
  bool settle_copies(State&);
  // tensor.cpp
  Status tensor(Turn&);
  void allocate(Turn&);
  void multiply(Turn&);
  void commit(Turn&);
  void touch_tensor(Turn&, EventId, std::uint32_t cta, const Footprint&);
  void move_data(Turn&);
  void consume_loads(Turn&);

  void breach(const rules::Verdict&, const ir::Operation&, const ir::Operation* earlier = nullptr,
              std::string got = {});

  const Program& program_;
  const ir::Code& code_;
  flow::Terms terms_{};
  flow::Evaluator evaluator_;
  Assumptions assumptions_;
  Words words_{};
  std::vector<Breach> breaches_{};
  std::set<std::pair<const ir::Operation*, rules::Rule>> told_{};
  const State* state_ = nullptr;  // that runs
  std::uint64_t steps_ = 0, unknowns_ = 0;
};

}  // namespace kiln::verifier::protocol
