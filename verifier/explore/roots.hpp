// Where the slice of a kernel begins: operations of the protocol, and which of their operands matter.
#pragma once

#include <vector>

#include "ptx/flow/demand.hpp"
#include "verifier/facts.hpp"

namespace kiln::verifier::explore {

/// An access of threads to what may be shared memory.
bool is_shared_access(const ir::Operation&);

/// An operation of the protocol itself.
bool is_protocol(const ir::Operation&);

/// By operation: whether it may store a word of the protocol. A scalar stored at an address that all threads share may
/// be one; what goes to an address of each thread's own is data.
std::vector<bool> stores_of_words(const Facts&);

/// Adds what an operation of the protocol needs to know: its guard, addresses, amounts, but not the data that it moves.
/// `stores_word`: what it stores may be a word of the protocol.
void add_roots(const ir::Operation&, bool stores_word, flow::Demands::Wanted& out);

}  // namespace kiln::verifier::explore
