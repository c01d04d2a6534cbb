// The protocol of a kernel: what makes threads wait or lets them go on, and accesses to the memory that they share. Here
// one operation is judged by itself; Program follows what the protocol depends on.
#pragma once

#include <span>

#include "ptx/flow/demand.hpp"
#include "ptx/ir/code.hpp"

namespace kiln::verifier::explore {

/// An access of threads to what may be shared memory.
bool is_shared_access(const ir::Operation&);

/// An operation of the protocol itself.
bool is_protocol(const ir::Operation&);

/// An operation that changes what the threads of its warp know and hold, and what memory was accessed, but nothing that
/// threads of another warp wait for.
bool is_local(const ir::Operation&);

/// All lanes of a warp execute it together, or it looks at other lanes.
bool is_of_warp(const ir::Operation&);

/// What comes after it need not be the next operation.
bool leads_elsewhere(isa::Opcode);

/// Adds what an operation of the protocol needs to know: its guard, addresses, amounts, but not the data that it moves.
/// `words`: what it stores that may be a word of the protocol.
void add_roots(const ir::Operation&, std::span<const ir::Argument* const> words, flow::Demands::Wanted&);

}  // namespace kiln::verifier::explore
