// What lanes know, and what they hand on.
#include <algorithm>

#include "verifier/explore/machine.hpp"

namespace kiln::verifier::protocol {
namespace {

// Calls f(Group&) for every group of lanes within `lanes`, groups cut to fit.
template <class F>
void for_groups(Warp& w, Mask lanes, F f) {
  for (std::size_t k = 0; k < w.groups.size(); ++k) {
    const Mask inside = w.groups[k].lanes & lanes, outside = w.groups[k].lanes & ~lanes;
    if (!inside) continue;
    if (outside) {
      Group rest = w.groups[k];
      rest.lanes = outside;
      w.groups[k].lanes = inside;
      w.groups.push_back(std::move(rest));
    }
    f(w.groups[k]);
  }
}

}  // namespace

EventId Machine::add_event(State& s, Event e) {
  s.events.push_back(e);
  return EventId(s.events.size() - 1);
}

void Machine::learn(Warp& w, Mask lanes, EventId e) {
  for_groups(w, lanes, [&](Group& g) { g.clock.seen.add(e), g.clock.before.add(e); });
}

// What is over before anything that the lanes do from now on, though they may not rely on it.
void Machine::came_before(Warp& w, Mask lanes, EventId e) {
  for_groups(w, lanes, [&](Group& g) { g.clock.before.add(e); });
}

// What lanes that make an access know of it: one lane all of it, of several each its own part.
void Machine::made(Warp& w, Mask lanes, EventId e) {
  if (std::has_single_bit(lanes)) return learn(w, lanes, e);
  for (Part& p : w.parts)
    if (p.event == e) return void(p.lanes |= lanes);
  w.parts.push_back({e, lanes, 0});
}

Clock Machine::released(Warp& w, Mask lanes) {
  Clock out;
  for_groups(w, lanes, [&](Group& g) { out.join(g.clock), out.tensor.join(g.tensor_fenced); });
  for (const Part& p : w.parts) {
    if ((p.lanes & ~lanes) == 0) out.seen.add(p.event), out.before.add(p.event);
    if ((p.lanes & ~p.fenced) == 0) out.fenced.add(p.event);
  }
  return out;
}

void Machine::acquire(Warp& w, Mask lanes, const Clock& clock) {
  // What was put in order for somebody else is in order here only behind a fence of one's own.
  for_groups(w, lanes, [&](Group& g) {
    g.tensor_arrived.join(clock.tensor);
    const EventSet ordered = g.clock.tensor;
    g.clock.join(clock);
    g.clock.tensor = ordered;
  });
  // A part that every lane knows as a whole is one no more.
  std::erase_if(w.parts, [&](const Part& p) {
    return std::all_of(w.groups.begin(), w.groups.end(), [&](const Group& g) { return g.clock.seen.has(p.event); });
  });
}

void Machine::fence(Warp& w, Mask lanes) {
  for_groups(w, lanes, [&](Group& g) { g.clock.fenced.join(g.clock.seen); });
  for (Part& p : w.parts) p.fenced |= p.lanes & lanes;
}

// All that the lanes know; each its own part of what they did together.
void Machine::release_fence(Warp& w, Mask lanes) {
  const Clock all = released(w, lanes);
  for_groups(w, lanes, [&](Group& g) { g.clock.handed.join(all.seen); });
}

void Machine::tensor_fence(Warp& w, Mask lanes, bool is_before) {
  for_groups(w, lanes, [&](Group& g) {
    if (is_before)
      g.tensor_fenced.join(g.clock.seen);
    else
      g.clock.tensor.join(g.tensor_arrived);
  });
}

// Of what is published, what the lanes know of.
void Machine::learn_map(Warp& w, Mask lanes, EventId published) {
  for_groups(w, lanes, [&](Group& g) {
    if (g.clock.seen.has(published)) g.clock.maps.add(published);
  });
}

// Lanes that meet know the same from then on.
void Machine::meet(Warp& w, Mask lanes) {
  const Clock all = released(w, lanes);
  acquire(w, lanes, all);
  Group met;
  for_groups(w, lanes,
             [&](Group& g) { met.tensor_fenced.join(g.tensor_fenced), met.tensor_arrived.join(g.tensor_arrived); });
  std::vector<Group> rest;
  for (Group& g : w.groups)
    if (g.lanes & ~lanes) rest.push_back(std::move(g));
  met.lanes = lanes;
  met.clock = all;
  rest.push_back(std::move(met));
  w.groups = std::move(rest);
}

bool Machine::all_have(const Turn& t, EventSet Clock::*set, EventId e) {
  return std::all_of(t.warp.groups.begin(), t.warp.groups.end(),
                     [&](const Group& g) { return !(g.lanes & t.lanes) || (g.clock.*set).has(e); });
}

}  // namespace kiln::verifier::protocol
