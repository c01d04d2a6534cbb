#include "verifier/explore/state.hpp"

#include <algorithm>
#include <bit>

namespace kiln::verifier::explore {
namespace {

// Calls f(Group&) for every group of lanes within `lanes`, groups cut to fit.
template <class F>
void for_groups(std::vector<Group>& groups, Mask lanes, F f) {
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const Mask inside = groups[k].lanes & lanes, outside = groups[k].lanes & ~lanes;
    if (!inside) continue;
    if (outside) {
      Group rest = groups[k];
      rest.lanes = outside;
      groups[k].lanes = inside;
      groups.push_back(std::move(rest));
    }
    f(groups[k]);
  }
}

}  // namespace

void Warp::learn(Mask lanes, EventId e) {
  for_groups(groups, lanes, [&](Group& g) { g.clock.seen.add(e), g.clock.past.add(e); });
}

void Warp::note_past(Mask lanes, EventId e) {
  for_groups(groups, lanes, [&](Group& g) { g.clock.past.add(e); });
}

void Warp::publish(Mask lanes, EventId e) {
  for_groups(groups, lanes, [&](Group& g) { g.clock.published.add(e); });
}

void Warp::learn_own(Mask lanes, EventId e) {
  if (std::has_single_bit(lanes)) return learn(lanes, e);
  for (Part& p : parts)
    if (p.event == e) return void(p.lanes |= lanes);
  parts.push_back({e, lanes, 0});
}

Clock Warp::released(Mask lanes) {
  Clock out;
  for_groups(groups, lanes, [&](Group& g) { out.join(g.clock), out.tensor.join(g.tensor_fenced); });
  for (const Part& p : parts) {
    if ((p.lanes & ~lanes) == 0) out.seen.add(p.event), out.past.add(p.event);
    if ((p.lanes & ~p.fenced) == 0) out.fenced.add(p.event);
  }
  return out;
}

void Warp::acquire(Mask lanes, const Clock& clock) {
  // Tensor memory that others have put in order is in order here only after a fence of these lanes.
  for_groups(groups, lanes, [&](Group& g) {
    g.tensor_arrived.join(clock.tensor);
    const EventSet ordered = g.clock.tensor;
    g.clock.join(clock);
    g.clock.tensor = ordered;
  });
  // An event that every lane knows as a whole has no parts any more.
  std::erase_if(parts, [&](const Part& p) {
    return std::all_of(groups.begin(), groups.end(), [&](const Group& g) { return g.clock.seen.has(p.event); });
  });
}

void Warp::proxy_fence(Mask lanes) {
  for_groups(groups, lanes, [&](Group& g) { g.clock.fenced.join(g.clock.seen); });
  for (Part& p : parts) p.fenced |= p.lanes & lanes;
}

void Warp::release_fence(Mask lanes, bool wide) {
  const Clock all = released(lanes);
  for_groups(groups, lanes, [&](Group& g) {
    g.clock.handed.join(all.seen);
    if (wide) g.clock.handed_wide.join(all.seen);
  });
}

void Warp::observe(Mask lanes, const Clock& clock, bool wide) {
  for (Observation& o : observed)
    if (o.lanes == lanes && o.wide == wide) return o.clock.join(clock);
  observed.push_back({lanes, wide, clock});
}

void Warp::acquire_fence(Mask lanes, bool wide) {
  for (Observation& o : observed) {
    if (o.wide && !wide) continue;
    acquire(o.lanes & lanes, o.clock);
    o.lanes &= ~lanes;
  }
  std::erase_if(observed, [](const Observation& o) { return o.lanes == 0; });
}

void Warp::tensor_fence(Mask lanes, bool is_before) {
  for_groups(groups, lanes, [&](Group& g) {
    if (is_before)
      g.tensor_fenced.join(g.clock.seen);
    else
      g.clock.tensor.join(g.tensor_arrived);
  });
}

void Warp::acquire_map(Mask lanes, EventId published) {
  for_groups(groups, lanes, [&](Group& g) {
    if (g.clock.seen.has(published)) g.clock.maps.add(published);
  });
}

void Warp::wait_for_lanes(Mask lanes) {
  Clock over;
  for (const Group& g : groups)
    if (g.lanes & lanes) over.ended.join(g.clock.seen), over.ended.join(g.clock.ended), over.past.join(g.clock.past);
  for_groups(groups, lanes, [&](Group& g) { g.clock.join(over); });
}

void Warp::meet(Mask lanes) {
  const Clock all = released(lanes);
  acquire(lanes, all);
  Group met;
  for_groups(groups, lanes,
             [&](Group& g) { met.tensor_fenced.join(g.tensor_fenced), met.tensor_arrived.join(g.tensor_arrived); });
  std::vector<Group> rest;
  for (Group& g : groups)
    if (g.lanes & ~lanes) rest.push_back(std::move(g));
  met.lanes = lanes;
  met.clock = all;
  rest.push_back(std::move(met));
  groups = std::move(rest);
}

bool Warp::all_have(Mask lanes, EventSet Clock::*set, EventId e) const {
  return std::all_of(groups.begin(), groups.end(),
                     [&](const Group& g) { return !(g.lanes & lanes) || (g.clock.*set).has(e); });
}

const Clock& Warp::clock(int lane) const {
  return std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.lanes >> lane & 1; })->clock;
}

}  // namespace kiln::verifier::explore
