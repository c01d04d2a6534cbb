// tcgen05.ld and tcgen05.st: register vectors, the lanes a warp reaches, and when loaded registers may be read.
#pragma once

#include <algorithm>
#include <bit>

#include "ptx/isa/tmem.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

constexpr Verdict ld_repeat(isa::DataShape shape, int repeat) {
  const int most = isa::load_shape(shape).max_repeat;
  if (repeat >= 1 && repeat <= most && std::has_single_bit(unsigned(repeat))) return legal;
  return breaks(Rule::ld_repeat, repeat, int(std::bit_floor(unsigned(std::clamp(repeat, 1, std::max(1, most))))));
}

/// 16x32bx2 reads two ranges of columns and says how far apart they are; no other shape does.
constexpr Verdict ld_split(isa::DataShape shape, bool split) {
  return split == (shape == isa::DataShape::s16x32bx2) ? legal : breaks(Rule::ld_split, int(shape));
}

constexpr Verdict ld_registers(isa::DataShape shape, int repeat, int registers) {
  const int want = isa::load_shape(shape).registers * repeat;
  return registers == want ? legal : breaks(Rule::ld_registers, registers, want);
}

/// `lane` is the lane field of the address, or its bits that are known to be one.
constexpr Verdict ld_lane(isa::DataShape shape, int lane) {
  const int lanes = isa::load_shape(shape).lanes;
  return lanes == 0 || lane % lanes == 0 ? legal : breaks(Rule::ld_lane, lane, lane / lanes * lanes);
}

/// `lane` is the lane field of the address, `warp` the warp's index in its CTA. 16-lane shapes may start in the middle
/// of the quarter.
constexpr Verdict ld_quarter(isa::DataShape shape, int lane, int warp) {
  const int first = isa::tmem_lanes_per_warp * (warp % 4);
  if (lane == first || (isa::load_shape(shape).lanes == 16 && lane == first + 16)) return legal;
  return breaks(Rule::ld_quarter, lane, first);
}

/// Whether the registers of a load may be read. A state rule is a transition function: the DSL applies it through
/// types, the verifier along all paths, the simulator along the path that it runs.
enum class LdState : std::uint8_t { pending, ready };
enum class LdEvent : std::uint8_t { wait, read };

struct LdStep {
  LdState next;
  Verdict verdict;
};

constexpr LdStep step(LdState s, LdEvent e) {
  if (e == LdEvent::wait) return {LdState::ready, legal};
  if (s == LdState::pending) return {s, breaks(Rule::ld_wait)};
  return {s, legal};
}

}  // namespace kiln::rules
