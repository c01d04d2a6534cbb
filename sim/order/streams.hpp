// Components that are not threads: what completes in order, and is known by how far it has come.
#pragma once

#include <unordered_map>

#include "sim/order/clock.hpp"

namespace kiln::sim {

enum class StreamKind : std::uint8_t {
  mbarrier,      // phases of an mbarrier; object: its shared offset
  tensor,        // tcgen05.mma, cp, shift of a thread
  bulk,          // bulk groups of a thread, complete
  bulk_read,     // bulk groups of a thread, sources read
  copies,        // cp.async groups of a thread
  tensor_load,   // tcgen05.ld of a warp
  tensor_store,  // tcgen05.st of a warp
  warpgroup,     // wgmma groups of a warpgroup
  life           // a CTA: 1 once it has started
};

/// Hands out components behind those of the threads.
class Streams {
 public:
  void reset(Component threads) {
    next_ = threads;
    known_.clear();
  }
  /// `rank` is the CTA's in its cluster, `object` below 2^32.
  Component of(StreamKind kind, std::uint32_t rank, std::uint32_t object) {
    const std::uint64_t key = std::uint64_t(kind) << 56 | std::uint64_t(rank) << 32 | object;
    const auto [found, fresh] = known_.try_emplace(key, next_);
    if (fresh) ++next_;
    return found->second;
  }

 private:
  Component next_ = 0;
  std::unordered_map<std::uint64_t, Component> known_;
};

}  // namespace kiln::sim
