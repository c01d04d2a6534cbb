// The order around tcgen05.mma: which threads issue it, and what lies between it and the reads of its accumulator.
#pragma once

#include "ptx/isa/modifiers.hpp"
#include "ptx/isa/opcodes.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// `lanes`: threads of one warp that certainly issue the same tcgen05.mma.
constexpr Verdict mma_issuer(int lanes) { return lanes <= 1 ? legal : breaks(Rule::mma_issuer, lanes, 1); }

/// What has happened to an accumulator since its MMA. Without an MMA in flight it is `settled`.
enum class MmaState : std::uint8_t { settled, issued, committed };
enum class MmaEvent : std::uint8_t { mma, commit, wait, read };

struct MmaStep {
  MmaState next;
  Verdict verdict;
};

/// A wait without an earlier commit waits for something else.
constexpr MmaStep step(MmaState s, MmaEvent e) {
  switch (e) {
    case MmaEvent::mma: return {MmaState::issued, legal};
    case MmaEvent::commit: return {s == MmaState::issued ? MmaState::committed : s, legal};
    case MmaEvent::wait: return {s == MmaState::committed ? MmaState::settled : s, legal};
    case MmaEvent::read: return {s, s == MmaState::settled ? legal : breaks(Rule::mma_wait, int(s))};
  }
  return {s, legal};
}

/// What a thread knows of the MMAs that others issued: after a wait, nothing before tcgen05.fence::after_thread_sync.
enum class FenceState : std::uint8_t { ordered, waited };
enum class FenceEvent : std::uint8_t { wait, fence, read };

struct FenceStep {
  FenceState next;
  Verdict verdict;
};

constexpr FenceStep step(FenceState s, FenceEvent e) {
  if (e == FenceEvent::read) return {s, s == FenceState::ordered ? legal : breaks(Rule::fence_after)};
  return {e == FenceEvent::wait ? FenceState::waited : FenceState::ordered, legal};
}

/// The tensor core's operations that one thread may issue without waiting in between.
constexpr bool is_pipelined(isa::Opcode op) {
  switch (op) {
    case isa::Opcode::tcgen05_mma:
    case isa::Opcode::tcgen05_mma_sp:
    case isa::Opcode::tcgen05_mma_ws:
    case isa::Opcode::tcgen05_mma_ws_sp:
    case isa::Opcode::tcgen05_cp:
    case isa::Opcode::tcgen05_shift: return true;
    default: return false;
  }
}

/// Whether PTX promises that `second` is executed after `first` of the same cta_group without a wait. PTX ISA "tcgen05,
/// Pipelined tcgen05 Instructions".
constexpr bool pipelined(isa::Opcode first, isa::Opcode second, isa::DataShape second_shape, bool same_accumulator) {
  using isa::Opcode;
  const auto is_mma = [](Opcode op) { return is_pipelined(op) && op != Opcode::tcgen05_cp && op != Opcode::tcgen05_shift; };
  if (is_mma(first)) return (is_mma(second) && same_accumulator) || second == Opcode::tcgen05_shift;
  if (first == Opcode::tcgen05_cp) return is_mma(second);
  return is_mma(second) || (second == Opcode::tcgen05_cp && second_shape == isa::DataShape::s4x256b);
}

}  // namespace kiln::rules
