// Memory as instructions access it: what an address names, and what must hold there.
#pragma once

#include <algorithm>
#include <cmath>
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
/// Whether two f32 differ by what the order of a few sums does: 2^-18 of their size, 32 units in the last place.
inline bool differ_by_rounding(float a, float b) {
  return std::isfinite(a) && std::isfinite(b) && std::abs(a - b) <= 0x1p-18f * std::max(std::abs(a), std::abs(b));
}
/// What a write of these bytes is for an observer: it may leave all of them as they are, or as f32 nearly so.
inline AccessKind kind_of_write(const View& to, const void* bytes, std::size_t count) {
  if (!to.all_written(count)) return AccessKind::write;
  if (std::memcmp(bytes, to.data, count) == 0) return AccessKind::rewrite;
  for (std::size_t at = 0; at < count; at += sizeof(float)) {
    float now = 0, then = 0;
    if (count - at < sizeof(float)) return AccessKind::write;
    std::memcpy(&now, static_cast<const std::uint8_t*>(bytes) + at, sizeof now);
    std::memcpy(&then, to.data + at, sizeof then);
    if (!differ_by_rounding(now, then)) return AccessKind::write;
  }
  return AccessKind::rounded;
}
/// The read that found the first poison of these bytes, of which some is: this one, if they were never written.
PoisonSource poison_source(Grid& grid, const ir::Operation* operation, const Place& place, std::uint32_t bytes);
/// Reports poison among bytes that decide something: `as` says what they are, "a tensor map".
void check_written(Grid& grid, const ir::Operation* operation, const Place& place, std::uint32_t bytes,
                   std::string_view as);

/// What the warp knows of poison in its registers; from now on it knows something.
RegisterPoison& poison_of(Context& c);
/// One element that a lane has loaded: makes its register poison where the `width` bytes at `at` are. The other bytes
/// of the register follow the sign, if it has one.
void load_poison(Context& c, const Inst& i, int lane, const Place& from, std::uint32_t at, std::uint32_t width, Slot to,
                 bool is_signed = false);
/// One element that a lane has stored: makes the bytes poison where its register is, and reports what leaves the
/// kernel.
void store_poison(Context& c, const Inst& i, int lane, const Place& to, std::uint32_t at, std::uint32_t width,
                  Slot from);
/// Marks bytes that were written with poison, if `source` is not 0: in global memory they leave the kernel `as` this.
void leave_poison(Grid& grid, const ir::Operation* operation, const Place& to, std::uint32_t bytes, PoisonSource source,
                  std::string_view as);
/// Copies what is known of `bytes` bytes to others, whose poison the read by `operation` found.
void copy_poison(Grid& grid, const ir::Operation* operation, const Place& from, const View& to, std::uint32_t bytes);
/// Tells the observer, which must be there, about a generic access.
void tell_access(Context& c, const Inst& i, int lane, const Place& place, std::uint32_t bytes, AccessKind kind);
inline void observe(Context& c, const Inst& i, int lane, const Place& place, std::uint32_t bytes, AccessKind kind) {
  if (c.grid->observer) tell_access(c, i, lane, place, bytes, kind);
}

}  // namespace kiln::sim
