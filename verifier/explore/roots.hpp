// Where the slice of a kernel begins: operations of the protocol, and which of their operands it hangs on.
#pragma once

#include <vector>

#include "ptx/flow/demand.hpp"
#include "verifier/facts.hpp"

namespace kiln::verifier::explore {

/// An access of threads to what may be shared memory.
bool is_shared_access(const ir::Operation&);

/// An operation of the protocol itself.
bool is_protocol(const ir::Operation&);

/// By operation: what is stored as a scalar at an address that all threads share may be a word of the protocol; what
/// goes to an address of each thread's own is data.
std::vector<bool> handing_on(const Facts&);

/// Adds what an operation of the protocol needs to know: its guard, addresses, amounts, but not the data that it moves.
/// `hands_on`: what it stores may be a word of the protocol.
void add_roots(const ir::Operation&, bool hands_on, flow::Demands::Wanted& out);

}  // namespace kiln::verifier::explore
