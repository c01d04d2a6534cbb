// Memory as instructions access it: what an address names, and what must hold there.
#pragma once

#include <cstring>

#include "sim/core/machine.hpp"

namespace kiln::sim {

/// What a thread's access reaches.
struct Place {
  View view{};
  isa::Space space = isa::Space::global;  // resolved: global, shared_cta, local, param
  Cta* owner = nullptr;                   // of shared memory
  std::uint64_t address = 0;              // shared: offset in the owner
};

/// Finds `bytes` bytes at a thread's address in a space; faults for what lies outside, is not aligned to `alignment`,
/// or is a remote address under shared::cta.
Place locate(Context& c, isa::Space space, std::uint64_t address, std::uint32_t bytes, std::uint32_t alignment,
             int lane);
/// The offset in the CTA's own shared memory of an address that must be there: .shared::cta or generic.
Place locate_shared(Context& c, isa::Space space, std::uint64_t address, std::uint32_t bytes, std::uint32_t alignment,
                    int lane);
/// What a write of these bytes is for an observer: it may leave all of them as they are.
inline AccessKind kind_of_write(const View& to, const void* bytes, std::size_t count) {
  return to.all_written(count) && std::memcmp(bytes, to.data, count) == 0 ? AccessKind::rewrite : AccessKind::write;
}
/// Reports a read of bytes that were never written, once per instruction.
void check_written(Grid& grid, const ir::Operation* operation, const Place& place, std::uint32_t bytes);
/// Tells the observer, which must be there, about a generic access.
void tell_access(Context& c, const Inst& i, int lane, const Place& place, std::uint32_t bytes, AccessKind kind);
inline void observe(Context& c, const Inst& i, int lane, const Place& place, std::uint32_t bytes, AccessKind kind) {
  if (c.grid->observer) tell_access(c, i, lane, place, bytes, kind);
}

}  // namespace kiln::sim
