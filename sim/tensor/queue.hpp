// The tensor core's queue: what was issued executes in order, one operation at a time, each a seeded while after the one
// before. A commit waits for what its own thread has issued. PTX ISA "tcgen05, Pipelined Instructions".
#pragma once

#include <functional>

#include "sim/core/machine.hpp"

namespace kiln::sim {

/// Puts an operation into the queue of its CTA.
void issue_tensor_op(Cta& cta, TensorOp op);
/// Runs `action` when what `thread` has issued so far is complete.
void issue_commit(Cta& cta, std::uint32_t thread, const ir::Operation* operation, std::function<void()> action);

}  // namespace kiln::sim
