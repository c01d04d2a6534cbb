// The tensor core's queue: operations execute in issue order, one at a time, each a seeded time after the previous one.
// A commit waits for the operations that its own thread has issued. PTX ISA "tcgen05, Pipelined Instructions".
#pragma once

#include <functional>

#include "sim/core/machine.hpp"

namespace kiln::sim {

/// Puts an operation into the queue of its CTA.
void issue_tensor_op(Cta& cta, TensorOp op);
/// Runs `action` when what `thread` has issued so far is complete.
void issue_commit(Cta& cta, u32 thread, const ir::Operation* operation, std::function<void()> action);

}  // namespace kiln::sim
