// Threads that read memory again and again until another thread changes it.
#pragma once

#include "sim/core/machine.hpp"

namespace kiln::sim {

/// A thread has read memory that others may change, or has failed to change it: it may be spinning.
void note_poll(Context& c, const Inst& i, Mask lanes);

}  // namespace kiln::sim
