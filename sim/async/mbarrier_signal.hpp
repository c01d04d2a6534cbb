// A change of an mbarrier and its consequences: its bytes in shared memory, the threads that wait, the observer.
#pragma once

#include "sim/core/machine.hpp"

namespace kiln::sim {

/// Copies the mbarrier's state into the eight bytes that shared memory shows.
void mirror_mbarrier(Cta& cta, std::uint32_t address);
/// After a change of the object: shows its bytes, wakes the threads that wait for it and tells the observer when its
/// phase has completed (`flipped`).
void publish_mbarrier(Cta& cta, std::uint32_t address, bool flipped);
/// Completes `bytes` (or an arrival when `arrivals` is not 0) on an mbarrier and wakes the threads that wait for it.
/// `by` is the asynchronous operation that does it, `operation` the instruction that issued it.
void signal_mbarrier(Cta& cta, std::uint32_t address, std::int64_t arrivals, std::int64_t bytes, AsyncId by = 0,
                     const ir::Operation* operation = nullptr);

}  // namespace kiln::sim
