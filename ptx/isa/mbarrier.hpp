// mbarrier objects: ranges of their counters. PTX ISA "mbarrier".
#pragma once

#include "ptx/isa/modifiers.hpp"

namespace kiln::isa {

inline constexpr int mbarrier_bytes = 8;
/// Arrivals, pending and expected.
constexpr int mbarrier_max_count(MbarrierLayout layout = MbarrierLayout::v0) {
  return layout == MbarrierLayout::v1 ? (1 << 9) - 1 : (1 << 20) - 1;
}
inline constexpr int mbarrier_max_tx = (1 << 20) - 1;     // transaction bytes, either sign

}  // namespace kiln::isa
