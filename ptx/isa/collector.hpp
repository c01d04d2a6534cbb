// Collector buffers: where the tensor core keeps an operand from one MMA to the next. Buffer a holds A of tcgen05.mma, b0
// to b3 hold B of tcgen05.mma.ws; sm_107 has one, b, for B of tcgen05.mma. PTX ISA "Collector buffers".
#pragma once

#include "ptx/isa/modifiers.hpp"

namespace kiln::isa {

/// What an instruction does to its buffer. One that names none discards: a's, or b0's with .ws.
enum class CollectorUse : std::uint8_t { fill, use, lastuse, discard };

/// One buffer along a path. `owner` tells operands apart where they are known; 0: not known.
struct CollectorState {
  bool filled = false;
  std::uint64_t owner = 0;
  constexpr bool operator==(const CollectorState&) const = default;
};

/// Buffers, in the order of the enumerators of Collector: a, b0, b1, b2, b3.
inline constexpr int collector_buffers = 5;
inline constexpr int collector_uses = 4;
/// The buffer b comes after them.
inline constexpr int collector_b_buffer = collector_buffers, all_collector_buffers = collector_buffers + 1;

/// The modifier for a buffer (0: a, 1 to 4: b0 to b3) and a use.
constexpr Collector collector(int buffer, CollectorUse use) {
  return Collector(int(Collector::a_fill) + buffer * collector_uses + int(use));
}

constexpr CollectorUse collector_use(Collector c) {
  return c == Collector::none ? CollectorUse::discard
                              : CollectorUse((int(c) - int(Collector::a_fill)) % collector_uses);
}

constexpr CollectorUse collector_use(CollectorB c) {
  return c == CollectorB::none ? CollectorUse::discard : CollectorUse(int(c) - int(CollectorB::fill));
}

/// The buffer that an instruction touches; `ws` decides for one that names none.
constexpr int collector_buffer(Collector c, bool ws) {
  return c == Collector::none ? int(ws) : (int(c) - int(Collector::a_fill)) / collector_uses;
}

static_assert(collector(0, CollectorUse::discard) == Collector::a_discard);
static_assert(collector(4, CollectorUse::use) == Collector::b3_use);
static_assert(collector_use(CollectorB::discard) == CollectorUse::discard);

constexpr const char* spelling(CollectorUse u) {
  switch (u) {
    case CollectorUse::fill: return "fill";
    case CollectorUse::use: return "use";
    case CollectorUse::lastuse: return "lastuse";
    case CollectorUse::discard: return "discard";
  }
  return "";
}

}  // namespace kiln::isa
