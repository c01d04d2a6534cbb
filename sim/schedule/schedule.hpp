// What decides the next step of a cluster, if that is not chance (which sim/schedule/scheduler.cpp implements).
#pragma once

#include <span>
#include <vector>

#include "sim/core/machine.hpp"

namespace kiln::sim::schedule {

/// Runs clusters, one after the other.
class Schedule {
 public:
  virtual ~Schedule() = default;
  /// Runs a cluster to its end. A Fault is thrown if it cannot end; `current` is then the operation.
  virtual Outcome run(Cluster&, const ir::Operation*& current) = 0;
};

/// A possible next step: a fragment executes its next synchronisation operation, or an asynchronous operation takes its
/// next step.
struct Candidate {
  std::uint64_t name = 0;  // the same in every schedule
  std::uint64_t warp = 0;  // name of the warp that it is part of or works for
  Cta* cta = nullptr;      // null: an asynchronous operation
  Warp* at = nullptr;
  int lane = 0;  // the fragment's first
};

/// A schedule that decides at synchronisation operations only; the order of what threads do in between does not matter.
class Picker : public Schedule {
 public:
  Outcome run(Cluster&, const ir::Operation*& current) final;

 protected:
  static constexpr std::size_t none = ~std::size_t{0};

  /// A cluster begins.
  virtual void begin(Cluster&) {}
  /// The index of the one that goes on; `none` if all only wait for a change.
  virtual std::size_t pick(Cluster&, std::span<const Candidate>) = 0;
  /// Whether peeks (waits whose failure is no loop) fail now, if threads stand at any.
  virtual bool peeks_fail() { return false; }
  /// It has gone on, and every fragment is at its next synchronisation operation; not `moved`: it had to wait.
  virtual void done(Cluster&, const Candidate&, bool /*moved*/) {}
  /// The cluster has come to its end, or to that of the run (`fault`).
  virtual void ended(Cluster&, bool /*fault*/) {}
  /// A warp does what lies between two synchronisation operations.
  virtual void works(const Cta&, const Warp&) {}

 private:
  Outcome go(Cluster&, const ir::Operation*& current);
  bool at_choice(Cta&, Warp&, int fragment);
  bool step(Cta&, Warp&, int lane, const ir::Operation*& current);
  void settle(Cluster&, const ir::Operation*& current);
  void collect(Cluster&);
  bool perform(Cluster&, const Candidate&, const ir::Operation*& current);
  void learn(const Program&);

  const Program* program_ = nullptr;
  bool has_peeks_ = false;
  std::vector<std::uint8_t> visible_{};  // by instruction
  std::vector<Candidate> candidates_{};
};

/// Probabilistic concurrency testing: random priorities, and a few points at which the running one gets the lowest
/// priority. Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010.
class Pct final : public Picker {
 public:
  explicit Pct(std::uint64_t seed);

 protected:
  std::size_t pick(Cluster&, std::span<const Candidate>) override;
  bool peeks_fail() override;

 private:
  std::uint64_t priority(const Cluster&, const Candidate&);

  std::uint64_t seed_;
  std::vector<std::uint64_t> changes_{};                           // synchronisation operations at which one is lowered
  std::unordered_map<std::uint64_t, std::uint64_t> lowered_{};     // priority of those that were lowered
  std::unordered_map<std::uint64_t, std::uint64_t> demoted_at_{};  // activity at which a spinning one was lowered
  std::uint64_t lowest_ = std::uint64_t{1} << 32;
  std::uint64_t picked_ = 0;
  std::uint64_t asked_ = 0;  // whether peeks fail
};

/// The synchronisation operations of a program: an order of them is a schedule.
bool is_synchronisation(const ir::Operation&);
/// A barrier at which all threads of the CTA meet, however many there are.
bool is_for_all(const ir::Operation&);

}  // namespace kiln::sim::schedule
