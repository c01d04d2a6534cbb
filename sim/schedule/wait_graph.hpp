// Who waits for whom, when nobody can go on: threads that wait for an object, and threads that could still signal it.
#pragma once

#include "ptx/diag/diagnostic.hpp"
#include "sim/core/machine.hpp"

namespace kiln::sim {

/// Adds to a deadlock's finding, for each object that is waited for: who arrived last, and who could still arrive but
/// waits itself; then the circles of those waits, by name. Who could arrive is read off the instructions that lie ahead
/// of a thread and the addresses that its registers hold now, so a thread may be missing; none is named wrongly for
/// another object that it does not address.
void explain_waits(Cluster& cluster, diag::Diagnostic& deadlock);

}  // namespace kiln::sim
