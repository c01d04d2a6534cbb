// States that go on in the same way have the same key: events that nothing refers to are forgotten, registers count
// while somebody may still read them, and a loop's counter counts by how far it is from what is known of its bound.
#pragma once

#include <string>

#include "verifier/explore/machine.hpp"

namespace kiln::verifier::explore {

/// Forgets events that nothing refers to and numbers the others by where they are found, makes one of events that are
/// alike, and forgets what is assumed of words out of memory that are gone.
void forget(State&, const Program&, Machine&);

/// The key of a state that has been through forget().
std::string key(const State&, const Program&, Machine&);

/// Calls f(EventSet&) for each set of events that threads know of or hand on, the same number of times in the same
/// order for states of one key. Of two such states the one whose threads know less comes to all that the other one
/// comes to: what is known decides nothing but whether a rule is broken.
template <class S, class F>
void each_known(S& s, F f) {
  const auto clock = [&](auto& c) { each_set_of(c, f); };
  for (auto& cta : s.ctas) {
    for (auto& [at, b] : cta.mbarriers) clock(b.open), clock(b.published);
    for (auto& [id, b] : cta.barriers) clock(b.open), clock(b.published);
    for (auto& w : cta.warps) {
      for (auto& g : w.groups) clock(g.clock), f(g.tensor_fenced), f(g.tensor_arrived);
      for (auto& [lane, e] : w.tensor) f(e);
      for (auto& [lane, e] : w.brought) f(e);
    }
  }
  clock(s.cluster.open), clock(s.cluster.published);
}

}  // namespace kiln::verifier::explore
