// The steps that every schedule is made of.
#pragma once

#include <optional>

#include "sim/core/machine.hpp"

namespace kiln::sim {

/// How long a warp runs, and which fragment.
struct Turn {
  int fragment = -1;         // the one to run; -1: the one with the lowest place, chosen after every instruction
  bool highest = false;      // of those, the one with the highest
  std::uint32_t budget = 0;  // instructions
  bool attempts = false;     // the budget counts instructions that had to wait too
};

/// Runs a warp. Returns the attempts: instructions executed and instructions that had to wait.
std::uint64_t run_warp(Cluster& cluster, Cta& cta, Warp& warp, const Turn& turn, const ir::Operation*& current);
/// After a turn: the CTA's end when its last thread has left; too many steps are a Fault.
void after_turn(Cta& cta, const Warp& warp);
/// An event happens.
void run_event(Cluster& cluster, Event event, const ir::Operation*& current);
/// Every thread has left.
bool finished(const Cluster& cluster);
/// Every wait on an mbarrier times out, or those alone that are peeks. False when there is none.
bool expire_waits(Cluster& cluster, bool only_peeks = false);
/// Peeks (waits whose failure is no loop) answer false though others can go on, as PTX allows. False when no thread
/// stands at one.
bool fail_peeks(Cluster& cluster);

/// Runs a cluster to its end. Nothing: it polls global memory for what a cluster may write that has not started, and
/// can go on beside that one (run_side_by_side).
std::optional<Outcome> run_cluster(Cluster& cluster);
/// One run of a random warp, or the next event in flight; false if no warp can run and no event is in flight.
bool step_by_chance(Cluster& cluster, const ir::Operation*& current);

/// How many more rounds to wait when nothing seems to happen any more.
class Patience {
 public:
  /// No fragment can run: lets waits time out; false when that has changed nothing for many rounds.
  bool none_runs(Cluster& cluster);
  /// All running fragments only poll: lets waits time out; false when that has changed nothing for some rounds.
  bool all_poll(Cluster& cluster);

 private:
  std::uint64_t stamp_ = 0, activity_ = 0;
  int rounds_ = 0, still_ = 0;
};

/// Polls of one fragment, before it counts as spinning; and before clusters that have not started are asked for help.
inline constexpr std::uint32_t many_polls = 1000, few_polls = 16;
/// Every fragment that can run has only polled, so often, since anything changed; nothing is in flight.
bool only_polls(const Cluster& cluster, std::uint32_t polls = many_polls);

}  // namespace kiln::sim
