// Every order of synchronisation operations that matters, once: dynamic partial-order reduction by re-execution, with
// source sets and sleep sets. Abdulla, Aronis, Jonsson, Sagonas, "Source Sets: A Foundation for Optimal Dynamic Partial
// Order Reduction", J. ACM 64 (2017).
#pragma once

#include <functional>

#include "sim/schedule/schedule.hpp"
#include "sim/schedule/sync_trace.hpp"

namespace kiln::sim::schedule {

/// How far an exploration came.
struct Exploration {
  std::uint64_t traces = 0;     // complete runs, each in another order
  std::uint64_t abandoned = 0;  // runs given up: their continuation had been seen, or they were too long
  std::uint64_t clusters = 0;   // of the launch with the most: they ran one after the other, in one order
  bool peeks = false;           // a wait whose failure is no loop answers false only when nothing else can go on
  bool complete = false;        // no other order is left of what the threads of a cluster do
};

/// Calls `run` with a schedule until every order has been seen, `run` has returned false, or there were `limit` traces.
/// `run` must simulate the same problem from its beginning with Options::schedule and the observer that it is given;
/// when the run is abandoned the simulator throws Abandoned through it.
using Run = std::function<bool(Schedule&, Observer&)>;
/// `grain` says which orders count as the same; a coarse exploration is there to be compared with.
Exploration explore(std::uint64_t limit, const Run& run, Grain grain = Grain::fine);

/// Ends a run that would repeat an earlier one.
struct Abandoned {};

}  // namespace kiln::sim::schedule
