// Cache policies as 64-bit words: what stands in the register that .L2::cache_hint takes. To the PTX ISA
// ("createpolicy") the word is opaque. Its fields are those that CCCL's cuda::access_property writes on the host and
// that ptxas 13.0 has createpolicy compute. What an L2 makes of them has not been measured here.
#pragma once

#include <cstdint>

#include "ptx/isa/modifiers.hpp"

namespace kiln::isa {

/// What createpolicy.fractional says: the priority of so many sixteenths of the accessed lines, and of the others.
struct CachePolicy {
  L2Eviction primary = L2Eviction::evict_unchanged;
  L2Eviction secondary = L2Eviction::evict_unchanged;  // or evict_first
  int sixteenths = 16;
};

constexpr std::uint64_t eviction_code(L2Eviction e) {
  switch (e) {
    case L2Eviction::evict_first: return 1;
    case L2Eviction::evict_last: return 2;
    case L2Eviction::evict_normal: return 3;  // also for lines that were to be given up last
    default: return 0;
  }
}

constexpr std::uint64_t pack(const CachePolicy& p) {
  constexpr int sixteenths = 52, secondary = 56, primary = 57, mode = 59;
  constexpr std::uint64_t fractional = 2;
  return std::uint64_t(p.sixteenths - 1) << sixteenths | eviction_code(p.secondary) << secondary |
         eviction_code(p.primary) << primary | fractional << mode;
}

}  // namespace kiln::isa
