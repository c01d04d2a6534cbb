// States with one key go on in the same way. Events that nothing refers to do not count, registers count while they may
// still be read, and a loop's counter counts by how far it is from what is known of its bound.
#pragma once

#include <string>

#include "verifier/explore/machine.hpp"

namespace kiln::verifier::explore {

/// Forgets events that nothing refers to and numbers the others by where they are found, makes one of events that are
/// alike, and forgets what is assumed of words out of memory that are gone.
void forget(State&, Machine&);

/// The key of a state that has been through forget().
std::string key(const State&, Machine&);

}  // namespace kiln::verifier::explore
