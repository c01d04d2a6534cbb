// Findings about a run that cannot go on: what stopped it, and where every thread stands.
#pragma once

#include <string>
#include <vector>

#include "sim/core/machine.hpp"

namespace kiln::sim {

/// Reports that CTAs which share an SM stand while allocations wait; the first of these clusters has one that does.
void report_allocations(const std::vector<Cluster*>& clusters);

/// Reports what stopped the run, with the threads that stood at that instruction.
void report_fault(Cluster& cluster, const ir::Operation* operation, const Fault& fault);
/// Nobody can run and nothing is in flight: reports who waits for what.
Outcome end_in_deadlock(Cluster& cluster);
/// Those that run poll for ever: reports it, or that another cluster should have run beside this one.
Outcome end_in_livelock(Cluster& cluster);

}  // namespace kiln::sim
