// What asynchronous operations have in common: an identity for observers, the mbarrier that they signal, and the bulk
// groups of the issuing thread.
#pragma once

#include <memory>

#include "sim/core/machine.hpp"
#include "sim/core/memory_access.hpp"

namespace kiln::sim {

inline constexpr std::uint32_t copy_least = 20, copy_spread = 600;  // ticks that a bulk copy takes

/// An mbarrier object: its CTA and its offset there.
struct Barrier {
  Cta* cta = nullptr;
  std::uint32_t address = 0;
};

/// The object at a thread's address; faults when there is none.
Barrier barrier_at(Context& c, isa::Space space, std::uint64_t address, int lane);

/// Reports an instruction that wants a launch with clusters, where there may be none.
void want_clusters(Context& c, const Inst& i);

/// Tells the observer that one lane's operation enters flight, and gives it its number.
AsyncId announce(Context& c, const Inst& i, int lane);
/// The same for one that will deliver bytes to an mbarrier.
AsyncId announce(Context& c, const Inst& i, int lane, const Barrier& signals, std::uint32_t bytes);
/// Tells the observer, if there is one, what the operation will touch.
void touch(Context& c, const Inst& i, int lane, AsyncId id, const Range& range, AccessKind kind,
           Proxy proxy = Proxy::async);
/// Tells the observer that the operation has done everything.
void finish(Grid& grid, AsyncId id);
/// Delivers bytes to an mbarrier.
void deliver(const Barrier& b, std::uint32_t bytes, AsyncId id);

/// The open bulk group of a lane's thread, with one more operation in it.
std::shared_ptr<BulkGroup> open_bulk_group(Context& c, int lane);
/// One operation of the group has read its source; has written its destination.
void close_read(Cluster& cluster, BulkGroup& g);
void close_write(Cluster& cluster, BulkGroup& g);

/// The CTAs that a mask names: it has 16 bits, or 32 where the instruction says so.
inline std::uint32_t cta_mask(const ir::Operation& op, std::uint64_t mask) {
  return std::uint32_t(mask & ((std::uint64_t{1} << op.modifiers.cta_mask_bits()) - 1));
}

inline Range range_of(const Place& p, std::uint64_t bytes) {
  return {p.space, p.owner ? p.owner->index : 0, p.address, bytes, 1};
}

}  // namespace kiln::sim
