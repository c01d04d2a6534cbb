// States that go on in the same way have the same key: events that nothing refers to are forgotten, registers count
// while somebody may still read them, and a loop's counter counts by how far it is from what is known of its bound.
#pragma once

#include <string>

#include "verifier/explore/machine.hpp"

namespace kiln::verifier::explore {

/// Forgets events that nothing refers to and numbers the others by where they are found, makes one of events that are
/// alike, and forgets what is assumed of words out of memory that are gone.
void forget(State&, const Program&, Machine&);

/// The key of a state that has been through forget().
std::string key(const State&, const Program&, Machine&);

}  // namespace kiln::verifier::explore
