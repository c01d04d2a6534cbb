// What the engine's threads hold in registers.
#pragma once

#include "lower/code.hpp"
#include "lower/plan/plan.hpp"

namespace kiln::lower {

/// In `held`: the bits of D's column, and where the number of a share begins; D's lane is above that.
inline constexpr unsigned held_column = 0x3ff, held_share = 10;

/// From one command to the next: `thread`, `ticket`, `slot`, `held`, `image_written` and `image_read`. All else is
/// computed again where it is needed, since sums leave few registers.
struct EngineRegisters {
  EngineRegisters(Builder&, const Plan&);
  /// Writes `warp` and `lane`.
  void find_self(Builder&) const;

  Registers sums, command;     // the accumulator; the words of the command in hand, or of the next one
  Register thread;             // its number in the engine
  Register warp, lane;         // the number of the warp in the engine
  Register ticket, slot;       // of the next command; where the command in hand is
  Register next_slot, parity;  // of the next command; its phase, where the home is in global memory
  Register signal;             // the mbarrier of a command that is a commit too, else 0
  Register count;              // how many warps had done the command before this one
  Register held;               // which sums are in registers and not in the image: D's address and the number of the
                               // share, of which 0 is none
  Register wanted;             // the same for the command in hand
  Register image_written;      // something was written to the image since the warps met
  Register image_read;         // the engine may still read the image
  Register meetings;           // how often the engine's warps have met without a named barrier
  Register return_to;          // after sums were written: 0 the commit, i + 1 form i
  Register condition;          // for what is used at once: ptxas 13.0 makes other code where each has its own
  Register is_first_lane, is_ready, counts;  // the next command is there; this lane counts the warps
};

}  // namespace kiln::lower
