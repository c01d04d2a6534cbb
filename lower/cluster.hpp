// barrier.cluster in a lowered kernel. The hardware's counts every thread of the cluster, and the engine's have no time
// for it: the kernel's own threads are counted in a word of CTA 0 and wait at an mbarrier of their CTA's; the
// hardware's barrier is left for the beginning, when mbarriers are made, and for the end, when nobody may leave whose
// shared memory others still reach.
#pragma once

#include "lower/plan.hpp"
#include "lower/text.hpp"
#include "ptx/ir/code.hpp"

namespace kiln::lower {

/// Declarations at the kernel's head.
void declare_cluster_barrier(Text&);
/// By one thread: all of the kernel's own threads in the cluster are to come.
void make_cluster_barrier(Text&, const Plan&);
/// What barrier.cluster.arrive and barrier.cluster.wait become.
Text cluster_arrival(const ir::Operation&);
Text cluster_wait(const ir::Operation&);
/// Before a thread of the kernel's leaves: a barrier waits for it no more.
void leave_cluster_barrier(Text&);
/// All threads that there are in the cluster, the engine's too, meet by the hardware's barrier: whole warps.
void meet_in_cluster(Text&);
/// The same for threads that are alone in their warps, or not.
void part_in_cluster(Text&);

}  // namespace kiln::lower
