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
/// All running threads poll for ever: reports it, or that another cluster would have to run at the same time.
Outcome end_in_livelock(Cluster& cluster);

}  // namespace kiln::sim
