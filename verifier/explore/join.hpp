// What two ways of a branch have come to becomes one state, if what follows does not depend on the way. The branch is
// then followed once however often warps and loops come to it.
//
// Threads know what they know on both ways. An access that happens on one way alone, or is the last one of its bytes on
// one way alone, stands beside the others. A rule that it breaks may depend on the way: the ways of its branch are then
// followed apart, from the start on (Event::decider), so that each finding is one of a run.
#pragma once

#include <array>

#include "verifier/explore/program.hpp"
#include "verifier/explore/values.hpp"

namespace kiln::verifier::explore {

/// The threads that have gone either way, and where they part and meet.
struct Parting {
  std::uint32_t cta = 0, warp = 0;
  Mask lanes = 0;
  std::uint32_t branch = 0, meet = 0;
};

/// Joins the states that a state has come to on the ways of a branch into it. False, with the state as it was, if the
/// threads are not together where the ways meet, or hold or wait for different things there.
bool join(State&, std::array<State, 2>& ways, const Parting&, const Program&, const Words&);

}  // namespace kiln::verifier::explore
