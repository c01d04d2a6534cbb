// Threads that wait for each other: which of the waits is the cause.
#pragma once

#include <vector>

#include "verifier/explore/program.hpp"
#include "verifier/explore/state.hpp"

namespace kiln::verifier::explore {

/// The operations at which threads wait that no other wait explains: all threads that could end such a wait, wait for
/// it in turn, or there is none. A phase with all arrivals and a wrong number of bytes comes first. Empty when no
/// thread waits.
std::vector<std::uint32_t> roots(const Program&, const State&);

/// A phase that threads wait for and that has all its arrivals, but not the bytes that were announced; null when there
/// is none.
const Barrier* phase_of_wrong_bytes(const State&);

}  // namespace kiln::verifier::explore
