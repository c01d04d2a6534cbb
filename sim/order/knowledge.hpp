// What the threads of a warp know of the rest of the grid. Lanes that know the same share one copy; an event by some of
// them splits it, a warp-wide barrier makes it one again.
#pragma once

#include <array>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include "ptx/order/reach.hpp"
#include "sim/core/lanes.hpp"
#include "sim/order/clock.hpp"

namespace kiln::sim {

using order::Reach;
using order::reaches;

/// What one synchronisation hands from thread to thread.
struct Message {
  History happened{};     // events before this point
  Clock fenced_shared{};  // those of them before a fence.proxy.async that covers shared memory
  Clock fenced_global{};  // the same for global memory
  Clock fenced_map{};     // the same for the tensormap proxy
  Clock published{};      // mbarrier initialisations before a fence.mbarrier_init, and CTAs that have started
  Clock met{};      // events before a relaxed cluster barrier, which today's hardware keeps in order for mbarriers
  Clock ended{};    // events that were over before an instruction at which lanes wait for each other
  Clock tcgen05{};  // events that tcgen05.fence has put in order
  std::map<std::uint32_t, Clock> foreign{};         // `happened` of other clusters, by their number
  std::map<std::uint32_t, Clock> foreign_fenced{};  // `fenced_global` of theirs
  std::map<std::uint32_t, Clock> foreign_ended{};   // `ended` of theirs

  void join(const Message& o);
  /// What of it means something elsewhere: components have numbers of their own in every cluster. `own` is the cluster
  /// that the message comes from.
  Message for_other_clusters(std::uint32_t own) const;
  /// What other clusters have learnt of the cluster `own` is known there again.
  void take_back(std::uint32_t own);
};

/// A message for each distance of the thread that receives it.
using ByReach = std::array<Message, reaches>;

/// Which fence of a lane's own; release fences by how far they reach.
enum class OwnFence : std::uint8_t {
  shared,
  global,
  map,
  published,
  tensor,
  release_cta,
  release_cluster,
  release_grid
};
inline constexpr int own_fences = 8;
constexpr OwnFence release_fence(Reach r) { return OwnFence(int(OwnFence::release_cta) + int(r)); }

/// What lanes with the same history know.
struct Knowledge {
  Message seen{};
  ByReach released{};     // `seen` at the last release fence that reaches so far
  ByReach observed{};     // read by relaxed loads from so far; seen once an acquire fence that reaches it follows
  Clock maps_acquired{};  // tensor maps of global memory as they were released before the last acquire that counts here
  Clock tcgen05_arrived{};  // handed over by others; in order once tcgen05.fence::after_thread_sync follows
  Clock tcgen05_fenced{};   // what was known at the last tcgen05.fence::before_thread_sync

  /// Takes a message in.
  void acquire(const Message& m);
  void join(const Knowledge& o);
};

/// The knowledge of a warp's lanes. Lane l of the warp is component `first + l`.
class WarpKnowledge {
 public:
  /// A word of memory that threads release at: its owner's index + 1 or 0, and its address.
  using Place = std::pair<std::uint32_t, std::uint64_t>;

  WarpKnowledge() = default;
  WarpKnowledge(Component first, const Knowledge& initial) : first_(first), groups_{{all_lanes, initial}} {}

  Component component(int lane) const { return first_ + Component(lane); }
  Stamp now(int lane) const { return {component(lane), epoch_}; }
  Epoch epoch() const { return epoch_; }
  /// Ends the epoch: what the warp's lanes do from here on comes after everything that they have released.
  void advance() { ++epoch_, ++version_; }
  /// Changes whenever a message would.
  std::uint64_t version() const { return version_; }

  const Knowledge& of(int lane) const;
  /// Changes what lanes know, group by group; groups that lie only partly in `lanes` are split.
  template <class F>
  void change(Mask lanes, F f) {
    split(lanes);
    ++version_;
    for (Group& g : groups_)
      if (g.lanes & lanes) f(g.lanes, g.knowledge), g.state = ++states_;
  }
  /// The lanes take a message in. `name` is that of this message and no other, or 0: threads of a warp mostly see a
  /// phase one by one, and those that knew the same before know the same afterwards.
  void acquire(Mask lanes, const Message&, std::uint64_t name);
  /// The lanes learn of an event.
  void learn(Mask lanes, Stamp event) {
    change(lanes, [&](Mask, Knowledge& k) { k.seen.happened.raise(event); });
  }
  /// fence.mbarrier_init: the lanes' own events up to now are published.
  void fence_init(Mask lanes) { fence(OwnFence::published, lanes), advance(); }
  /// tcgen05.fence.
  void fence_tensor_before(Mask lanes);
  void fence_tensor_after(Mask lanes);
  /// fence, membar.
  void fence(Mask lanes, bool acquires, bool releases, Reach);
  /// What the lanes know is fenced for `which`, a proxy.
  void fence_proxy(OwnFence which, Mask lanes);
  /// Whether a lane's own events of this epoch and before are fenced.
  bool has_fenced(OwnFence which, int lane, Epoch epoch) const { return own_[std::size_t(which)][lane] >= epoch; }

  /// What a release by these lanes hands over: what they know, and their own events.
  Message message(Mask lanes) const;
  /// What an arrival without release semantics hands over so far: only what fences before it have put in order.
  Message relaxed_message(Mask lanes, Reach) const;
  /// The lanes wait for each other without learning what the others know: what is over for one is over for all. False
  /// where they know the same already.
  bool wait_for_lanes(Mask lanes);
  /// What the lanes have released at a place, for each distance: a later strong write of theirs to it hands that over
  /// too. PTX ISA "Release and Acquire Patterns".
  void note_release(Place, Mask lanes, Reach, const Message&);
  void add_released(Place, Mask lanes, Reach, Message&) const;
  /// The lanes meet in a warp-wide barrier: each knows what the others know and did.
  void meet(Mask lanes);

 private:
  struct Group {
    Mask lanes = 0;
    Knowledge knowledge{};
    std::uint64_t state = 0;  // groups with the same one know the same
  };
  // The last acquisition: which message, and the knowledge before and after it.
  struct Acquired {
    std::uint64_t name = 0, before = 0, after = 0;
  };
  struct Released {
    Mask lanes = 0;
    ByReach handed{};
  };
  void fence(OwnFence which, Mask lanes);
  void add_fenced(Message&, Mask lanes, std::initializer_list<OwnFence>) const;
  void split(Mask lanes);
  Mask follow(Mask lanes);
  void add_own(Message&, Mask lanes) const;

  Component first_ = 0;
  Epoch epoch_ = 1;
  std::uint64_t version_ = 1;
  std::uint64_t states_ = 0;
  Acquired acquired_{};
  std::vector<Group> groups_;
  std::array<std::array<Epoch, warp_lanes>, own_fences> own_{};
  std::map<Place, std::vector<Released>> released_at_{};
};

}  // namespace kiln::sim
