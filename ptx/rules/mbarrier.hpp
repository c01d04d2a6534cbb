// mbarrier objects: the ranges of their counters.
#pragma once

#include <algorithm>

#include "ptx/isa/mbarrier.hpp"
#include "ptx/isa/spaces.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

constexpr Verdict mbarrier_count(std::int64_t count, isa::MbarrierLayout layout = isa::MbarrierLayout::v0) {
  const int most = isa::mbarrier_max_count(layout);
  return count >= 1 && count <= most ? legal
                                     : breaks(Rule::mbarrier_count, count, std::clamp<std::int64_t>(count, 1, most));
}

/// Bytes of one expect_tx, or of all copies that one phase waits for.
constexpr Verdict mbarrier_tx(std::int64_t bytes) {
  if (bytes >= 0 && bytes <= isa::mbarrier_max_tx) return legal;
  return breaks(Rule::mbarrier_tx, bytes, std::clamp<std::int64_t>(bytes, 0, isa::mbarrier_max_tx));
}

constexpr Verdict mbarrier_space(isa::Space s) {
  return isa::is_shared(s) ? legal : breaks(Rule::mbarrier_space, int(s));
}

/// `address`: of the object, or its bits that are known to be one.
constexpr Verdict mbarrier_alignment(std::uint32_t address) {
  constexpr int step = isa::mbarrier_bytes;
  return address % step == 0 ? legal : breaks(Rule::mbarrier_alignment, address, address / step * step);
}

/// The parity that every wait for the object asks for, when only phase 0 ever completes. A wait for parity 1 then
/// passes during phase 0 and blocks for ever after it.
constexpr Verdict mbarrier_parity(std::int64_t parity) {
  return parity % 2 == 0 ? legal : breaks(Rule::mbarrier_parity, parity, 0);
}

/// The bytes that one phase expects against those that its copies complete.
constexpr Verdict mbarrier_bytes(std::int64_t expected, std::int64_t copied) {
  return expected == copied ? legal : breaks(Rule::mbarrier_bytes, expected, copied);
}

/// The life of an mbarrier object, for the rule that it is initialised before it is used.
enum class BarrierState : std::uint8_t { fresh, initialised };

constexpr Verdict mbarrier_use(BarrierState s) {
  return s == BarrierState::initialised ? legal : breaks(Rule::mbarrier_uninitialised);
}

/// An mbarrier that a thread waits on. `signalled`: an arrive or a commit may name it.
constexpr Verdict mbarrier_wait(bool signalled) { return signalled ? legal : breaks(Rule::mbarrier_unsignalled); }

/// `n` arrivals at a phase that still waits for `pending`.
constexpr Verdict mbarrier_arrivals(std::int64_t pending, std::int64_t n, bool no_complete) {
  const std::int64_t most = no_complete ? pending - 1 : pending;
  return n <= most ? legal : breaks(Rule::mbarrier_arrivals, n, most);
}

/// `given_back`: no mbarrier lives in the bytes that are written.
constexpr Verdict mbarrier_inval(bool given_back) { return given_back ? legal : breaks(Rule::mbarrier_inval); }

/// So many lanes of one instruction initialise one mbarrier with one count.
constexpr Verdict mbarrier_init_lanes(std::int64_t lanes) {
  return lanes == 1 ? legal : breaks(Rule::mbarrier_init_lanes, lanes, 1);
}

/// `intact`: the object's bytes are those that its last mbarrier instruction left.
constexpr Verdict mbarrier_overwritten(bool intact) { return intact ? legal : breaks(Rule::mbarrier_overwritten); }

/// An arrival on an mbarrier that may be another CTA's; `written`: the instruction says its scope.
constexpr Verdict mbarrier_scope_unwritten(bool written) {
  return written ? legal : breaks(Rule::mbarrier_scope_unwritten);
}

}  // namespace kiln::rules
