// mbarrier objects: ranges of their counters. PTX ISA "mbarrier".
#pragma once

namespace kiln::isa {

inline constexpr int mbarrier_bytes = 8;
inline constexpr int mbarrier_max_count = (1 << 20) - 1;  // arrivals, pending and expected
inline constexpr int mbarrier_max_tx = (1 << 20) - 1;     // transaction bytes, either sign

}  // namespace kiln::isa
