// The waits when no thread can go on: threads that wait for an object, and threads that could still signal it.
#pragma once

#include "ptx/diag/diagnostic.hpp"
#include "sim/core/machine.hpp"

namespace kiln::sim {

/// Adds to a deadlock's finding, for each object that is waited for: the last arrival, and the threads that could still
/// arrive but wait themselves; then the cycles of those waits, by name. Which threads could arrive follows from the
/// instructions ahead of a thread and the addresses in its registers now. A thread may be missing, but no thread is
/// named for an object that it does not address.
void explain_waits(Cluster& cluster, diag::Diagnostic& deadlock);

}  // namespace kiln::sim
