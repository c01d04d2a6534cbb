// When one access is ordered before another. PTX ISA "Memory Consistency Model", "Async proxy", "tcgen05 Memory
// Consistency Model".
#pragma once

#include <optional>

#include "ptx/rules/catalogue.hpp"
#include "sim/order/knowledge.hpp"
#include "sim/order/shadow.hpp"

namespace kiln::sim {

/// An earlier access as a cell remembers it.
struct Earlier {
  const Access& access;
  Mask lanes = 0;
  bool writes = false;
  Completion completion{};  // of an asynchronous one
};

/// The access that is made now. `lane` is the lane that makes it; for an instruction of the whole warp, any.
struct Later {
  const Access& access;
  int lane = 0;
  Mask lanes = 0;
  bool writes = false;
  isa::Space space = isa::Space::global;  // reg: tensor memory
};

/// The rule that the pair breaks; nothing when they do not conflict or are ordered.
std::optional<rules::Rule> judge(const Earlier&, const Later&, const WarpKnowledge&);

/// Whether the earlier access is known to be over, by happens-before alone.
bool is_known(const Earlier&, const Later&, const WarpKnowledge&);

}  // namespace kiln::sim
