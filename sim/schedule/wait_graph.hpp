// The waits when no thread can go on: threads that wait for an object, and threads that could still signal it.
#pragma once

#include "ptx/diag/diagnostic.hpp"
#include "sim/core/machine.hpp"

namespace kiln::sim {

/// Adds to a deadlock's finding what threads wait for, the cause first: the wait that no other thread that waits could
/// end, or a circle of waits. The finding stands there if it has no place yet. Of the cause, notes name the last arrival
/// and the threads that could still arrive but wait themselves, or that there is none, and the circle; waits that follow
/// from it are one note for all threads that wait for the same. Which threads could arrive follows from the
/// instructions ahead of a thread and the addresses in its registers now. A thread may be missing, but no thread is
/// named for an object that it does not address.
void explain_waits(Cluster& cluster, diag::Diagnostic& deadlock);

}  // namespace kiln::sim
