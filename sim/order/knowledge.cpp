#include "sim/order/knowledge.hpp"

#include <algorithm>
#include <utility>

namespace kiln::sim {
namespace {

// The clock of a message that a lane's own fence adds to; not for release fences.
Clock& clock_of(Message& m, OwnFence which) {
  Clock* const clocks[] = {&m.fenced_shared, &m.fenced_global, &m.fenced_map, &m.published, &m.tcgen05};
  return *clocks[int(which)];
}

// A lane's event before its last fence of a kind; a release leaves it in `happened`.
void raise(Message& m, OwnFence which, Stamp event) {
  if (which < OwnFence::release_cta)
    clock_of(m, which).raise(event);
  else
    m.happened.raise(event);
}

}  // namespace

void Message::join(const Message& o) {
  happened.join(o.happened);
  fenced_shared.join(o.fenced_shared);
  fenced_global.join(o.fenced_global);
  fenced_map.join(o.fenced_map);
  published.join(o.published);
  met.join(o.met);
  ended.join(o.ended);
  tcgen05.join(o.tcgen05);
  for (const auto& [cluster, clock] : o.foreign) foreign[cluster].join(clock);
  for (const auto& [cluster, clock] : o.foreign_fenced) foreign_fenced[cluster].join(clock);
  for (const auto& [cluster, clock] : o.foreign_ended) foreign_ended[cluster].join(clock);
}

Message Message::for_other_clusters(std::uint32_t own) const {
  Message m;
  m.foreign = foreign;
  m.foreign_fenced = foreign_fenced;
  m.foreign[own].join(happened);
  m.foreign_fenced[own].join(fenced_global);
  m.foreign_ended = foreign_ended;
  m.foreign_ended[own].join(ended);
  return m;
}

void Message::take_back(std::uint32_t own) {
  if (const auto found = foreign.find(own); found != foreign.end()) happened.join(found->second);
  if (const auto found = foreign_fenced.find(own); found != foreign_fenced.end()) fenced_global.join(found->second);
  if (const auto found = foreign_ended.find(own); found != foreign_ended.end()) ended.join(found->second);
}

void Knowledge::acquire(const Message& m) {
  // What tcgen05.fence has put in order for another thread is in order here only after a fence of these lanes.
  tcgen05_arrived.join(m.tcgen05);
  const Clock ordered = seen.tcgen05;
  seen.join(m);
  seen.tcgen05 = ordered;
}

void Knowledge::join(const Knowledge& o) {
  seen.join(o.seen);
  for (std::size_t r = 0; r < reaches; ++r) released[r].join(o.released[r]), observed[r].join(o.observed[r]);
  maps_acquired.join(o.maps_acquired);
  tcgen05_arrived.join(o.tcgen05_arrived);
  tcgen05_fenced.join(o.tcgen05_fenced);
}

const Knowledge& WarpKnowledge::of(int lane) const {
  for (const Group& g : groups_)
    if (g.lanes >> lane & 1) return g.knowledge;
  return groups_.front().knowledge;
}

void WarpKnowledge::split(Mask lanes) {
  for (std::size_t k = 0, n = groups_.size(); k < n; ++k) {
    const Mask outside = groups_[k].lanes & ~lanes;
    if (outside == 0 || outside == groups_[k].lanes) continue;
    groups_.push_back({outside, groups_[k].knowledge, groups_[k].state});
    groups_[k].lanes &= lanes;
  }
}

// Moves lanes that know what others knew before the last acquisition to the group of those; returns the lanes.
Mask WarpKnowledge::follow(Mask lanes) {
  const auto is_there = [&](const Group& g) { return g.state == acquired_.after; };
  const auto to = std::find_if(groups_.begin(), groups_.end(), is_there);
  if (to == groups_.end()) return 0;
  Mask moved = 0;
  for (Group& g : groups_)
    if (g.state == acquired_.before) moved |= g.lanes & lanes, g.lanes &= ~lanes;
  to->lanes |= moved;
  std::erase_if(groups_, [](const Group& g) { return g.lanes == 0; });
  return moved;
}

void WarpKnowledge::acquire(Mask lanes, const Message& m, std::uint64_t name) {
  ++version_;
  if (name && name == acquired_.name) lanes &= ~follow(lanes);
  if (lanes == 0) return;
  split(lanes);
  for (Group& g : groups_) {
    if (!(g.lanes & lanes)) continue;
    g.knowledge.acquire(m);
    acquired_ = {name, std::exchange(g.state, ++states_), states_};
  }
}

void WarpKnowledge::fence(OwnFence which, Mask lanes) {
  ++version_;
  for_lanes(lanes, [&](int l) { own_[std::size_t(which)][std::size_t(l)] = epoch_; });
}

void WarpKnowledge::fence(Mask lanes, bool acquires, bool releases, Reach reach) {
  // It acquires first: what it reads is handed on by the release.
  if (acquires)
    change(lanes, [&](Mask, Knowledge& k) {
      for (int r = 0; r <= int(reach); ++r) k.acquire(Message(k.observed[std::size_t(r)]));
    });
  if (releases) {
    for (int r = 0; r <= int(reach); ++r) fence(release_fence(Reach(r)), lanes);
    change(lanes, [&](Mask group, Knowledge& k) {
      for (int r = 0; r <= int(reach); ++r) {
        Message& released = k.released[std::size_t(r)] = k.seen;
        add_fenced(released, group & lanes, {OwnFence::shared, OwnFence::global, OwnFence::map, OwnFence::tensor});
        released.tcgen05.join(k.tcgen05_fenced);
        released.tcgen05.join(k.tcgen05_arrived);
      }
    });
  }
  advance();
}

void WarpKnowledge::fence_tensor_before(Mask lanes) {
  fence(OwnFence::tensor, lanes);
  change(lanes, [](Mask, Knowledge& k) { k.tcgen05_fenced.join(k.seen.happened); });
  advance();
}

void WarpKnowledge::fence_tensor_after(Mask lanes) {
  change(lanes, [](Mask, Knowledge& k) {
    k.seen.tcgen05.join(k.tcgen05_arrived);
    k.seen.tcgen05.join(k.tcgen05_fenced);  // both fences may stand in one thread
  });
}

void WarpKnowledge::fence_proxy(OwnFence which, Mask lanes) {
  fence(which, lanes);
  change(lanes, [&](Mask, Knowledge& k) {
    clock_of(k.seen, which).join(k.seen.happened);
    if (which != OwnFence::global) return;
    for (const auto& [cluster, clock] : k.seen.foreign) k.seen.foreign_fenced[cluster].join(clock);
  });
}

// The lanes' own events before their last fences of these kinds, which no group has.
void WarpKnowledge::add_fenced(Message& m, Mask lanes, std::initializer_list<OwnFence> fences) const {
  for (const int l : each_lane(lanes))
    for (const OwnFence f : fences)
      if (const Epoch e = own_[std::size_t(f)][std::size_t(l)]) raise(m, f, {component(l), e});
}

void WarpKnowledge::add_own(Message& m, Mask lanes) const {
  for (const int l : each_lane(lanes)) m.happened.raise(now(l));
  add_fenced(m, lanes, {OwnFence::shared, OwnFence::global, OwnFence::map, OwnFence::published, OwnFence::tensor});
}

Message WarpKnowledge::message(Mask lanes) const {
  Message m;
  for (const Group& g : groups_) {
    if (!(g.lanes & lanes)) continue;
    m.join(g.knowledge.seen);
    m.tcgen05.join(g.knowledge.tcgen05_fenced);
    m.tcgen05.join(g.knowledge.tcgen05_arrived);  // what a thread only hands on needs no fence of its own
  }
  add_own(m, lanes);
  return m;
}

Message WarpKnowledge::relaxed_message(Mask lanes, Reach reach) const {
  Message m;
  for (const Group& g : groups_) {
    if (!(g.lanes & lanes)) continue;
    m.join(g.knowledge.released[std::size_t(reach)]);
    m.published.join(g.knowledge.seen.published);
    m.met.join(g.knowledge.seen.met);
  }
  add_fenced(m, lanes, {OwnFence::published, release_fence(reach)});
  return m;
}

bool WarpKnowledge::wait_for_lanes(Mask lanes) {
  const auto is_there = [&](const Group& g) { return (g.lanes & lanes) != 0; };
  if (std::count_if(groups_.begin(), groups_.end(), is_there) < 2) return false;
  Message over;
  for (const Group& g : groups_) {
    if (!is_there(g)) continue;
    const Message& seen = g.knowledge.seen;
    over.ended.join(seen.happened);
    over.ended.join(seen.ended);
    for (const auto* theirs : {&seen.foreign, &seen.foreign_ended})
      for (const auto& [cluster, clock] : *theirs) over.foreign_ended[cluster].join(clock);
  }
  change(lanes, [&](Mask, Knowledge& k) { k.seen.join(over); });
  return true;
}

void WarpKnowledge::note_release(Place place, Mask lanes, Reach reach, const Message& m) {
  std::vector<Released>& all = released_at_[place];
  auto own = std::find_if(all.begin(), all.end(), [&](const Released& r) { return r.lanes == lanes; });
  if (own == all.end()) own = all.insert(all.end(), {lanes, {}});
  own->handed[std::size_t(reach)] = m;
}

void WarpKnowledge::add_released(Place place, Mask lanes, Reach reach, Message& m) const {
  const auto found = released_at_.find(place);
  if (found == released_at_.end()) return;
  for (const Released& r : found->second)
    if (r.lanes & lanes) m.join(r.handed[std::size_t(reach)]);
}

void WarpKnowledge::meet(Mask lanes) {
  split(lanes);
  const auto is_there = [&](const Group& g) { return (g.lanes & lanes) != 0; };
  const auto first = std::find_if(groups_.begin(), groups_.end(), is_there);
  if (first == groups_.end()) return;
  for (auto g = first + 1; g != groups_.end(); ++g) {
    if (!is_there(*g)) continue;
    first->lanes |= g->lanes;
    first->knowledge.join(g->knowledge);
  }
  groups_.erase(std::remove_if(first + 1, groups_.end(), is_there), groups_.end());
  first->knowledge.seen.tcgen05.join(first->knowledge.tcgen05_fenced);
  // A release fence before the barrier serves all lanes, with what its own lane did before it.
  for (const Reach r : {Reach::cta, Reach::cluster, Reach::grid})
    add_fenced(first->knowledge.released[std::size_t(r)], first->lanes, {release_fence(r)});
  add_own(first->knowledge.seen, first->lanes);
  first->state = ++states_;
  advance();
}

}  // namespace kiln::sim
