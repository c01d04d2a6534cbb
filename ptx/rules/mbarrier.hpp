// mbarrier objects: the ranges of their counters.
#pragma once

#include <algorithm>

#include "ptx/isa/mbarrier.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

constexpr Verdict mbarrier_count(std::int64_t count) {
  if (count >= 1 && count <= isa::mbarrier_max_count) return legal;
  return breaks(Rule::mbarrier_count, count, std::clamp<std::int64_t>(count, 1, isa::mbarrier_max_count));
}

/// Bytes of one expect_tx, or of all copies that one phase waits for.
constexpr Verdict mbarrier_tx(std::int64_t bytes) {
  if (bytes >= 0 && bytes <= isa::mbarrier_max_tx) return legal;
  return breaks(Rule::mbarrier_tx, bytes, std::clamp<std::int64_t>(bytes, 0, isa::mbarrier_max_tx));
}

/// An mbarrier object's life, as far as use before init goes.
enum class BarrierState : std::uint8_t { fresh, initialised };

constexpr Verdict mbarrier_use(BarrierState s) {
  return s == BarrierState::initialised ? legal : breaks(Rule::mbarrier_uninitialised);
}

}  // namespace kiln::rules
