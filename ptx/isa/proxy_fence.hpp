// Fences between the generic proxy and others: which memory they are about. PTX ISA "membar, fence", "Async proxy".
#pragma once

#include "ptx/isa/modifiers.hpp"

namespace kiln::isa {

/// Whether a fence.proxy or membar.proxy puts generic accesses and those of the async proxy in order where they are to
/// shared memory, or to global memory: without a space it does for all.
struct AsyncFence {
  bool shared = false, global = false;
};

constexpr AsyncFence async_fence(const Modifiers& m) {
  if (m.proxy != Proxy::async && m.proxy != Proxy::async_generic) return {};
  const bool restricted = m.sync_restrict != SyncRestrict::none;
  const bool any_space = m.spaces.count == 0 && !restricted;
  return {any_space || restricted || is_shared(m.space()), any_space || m.space() == Space::global};
}

}  // namespace kiln::isa
