// Findings about a run that cannot go on: what stopped it, and where every thread is.
#pragma once

#include <string>
#include <vector>

#include "sim/core/machine.hpp"

namespace kiln::sim {

/// Reports that CTAs of one SM cannot go on while allocations wait; the first of these clusters has such a CTA.
void report_allocations(const std::vector<Cluster*>& clusters);

/// Reports what stopped the run, with the threads that stood at that instruction.
void report_fault(Cluster& cluster, const ir::Operation* operation, const Fault& fault);
/// No thread can run and nothing is in flight: reports what each thread waits for.
Outcome end_in_deadlock(Cluster& cluster);
/// Whether a thread polls global memory.
bool polls_global_memory(const Cluster& cluster);
/// All running threads of these clusters poll for ever: reports it, or that what they wait for may be in a cluster that
/// has not started.
Outcome end_in_livelock(const std::vector<Cluster*>& clusters);
inline Outcome end_in_livelock(Cluster& cluster) { return end_in_livelock(std::vector{&cluster}); }

}  // namespace kiln::sim
