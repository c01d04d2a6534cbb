// What an abstract run has come to: where the threads of each warp stand, what their registers hold, what they know,
// what the barriers have seen, and which accesses touched which bytes last. Copied where a run may go two ways.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ptx/ir/code.hpp"
#include "ptx/order/access.hpp"
#include "ptx/tile/accumulation.hpp"
#include "verifier/explore/domain.hpp"
#include "verifier/explore/touches.hpp"

namespace kiln::verifier::explore {

using order::Proxy;

/// Lanes of tensor memory that are looked at as one.
inline constexpr int tensor_block_lanes = 16;

/// Where an event comes from: an access, the completion of a phase, or a wait that has seen it.
struct Event {
  const ir::Operation* operation = nullptr;
  std::uint32_t cta = 0, warp = 0;
  Mask lanes = 0;
  Proxy proxy = Proxy::generic;
  bool is_async = false;  // it is over when its completion is signalled, not when its instruction is
  bool writes = false;
  bool is_uncertain = false;  // it is not decided whether it happens
  /// The branch on one of whose ways alone it happens, or threads know of it (join.hpp).
  std::uint32_t decider = no_branch;
};

struct Cell {
  std::uint32_t end = 0;
  Touches writers{};  // of one event, but for those of which it is not decided whether they happen
  Touches readers{};
};
/// Intervals of a memory by their first byte; what was never touched has none.
using Intervals = std::map<std::uint32_t, Cell>;

/// A value that copies have in common until one of them changes it.
template <class T>
class Common {
 public:
  const T& operator*() const { return *value_; }
  T& change() {
    if (value_.use_count() > 1) value_ = std::make_shared<T>(*value_);
    return *value_;
  }
  bool is(const Common& o) const { return value_ == o.value_; }

 private:
  std::shared_ptr<T> value_ = std::make_shared<T>();
};

/// Why threads do not go on.
struct Wait {
  enum class Kind : std::uint8_t { none, mbarrier, barrier, cluster, lanes, warpgroup, choice, flag };
  Kind kind = Kind::none;
  std::uint32_t cta = 0;
  std::uint32_t object = 0;  // address or number
  std::uint64_t phase = 0;   // phase or generation that must be complete, or number of the write that must come
  flow::TermId choice = 0;   // the predicate that is not decided
};

/// Threads that compare with a bound in a loop (rounds.hpp). A round begins where a number is new to the comparison; in
/// it, numbers move on by steps.
struct Round {
  std::uint32_t number = 0;  // 0: none yet
  std::uint32_t trips = 0;   // comparisons in this round
  /// By place in the code: the number that was compared last; none where that lies far back.
  std::map<std::uint64_t, std::optional<std::uint64_t>> numbers{};
  bool operator==(const Round&) const = default;
};

/// Threads that read a flag in a loop (flags.hpp).
struct Poll {
  std::uint32_t at = ~std::uint32_t{0};  // the load
  std::uint32_t cta = 0, address = 0;
  std::uint64_t next = 0;       // number of the first write that they have not read
  std::vector<WordId> words{};  // what their registers held at the load
};

/// Threads of a warp that stand at one instruction.
struct Fragment {
  Mask lanes = 0;
  std::uint32_t at = 0;            // operation
  bool arrived = false;            // at the barrier where it stands
  std::uint32_t cluster_uses = 0;  // of the cluster's barrier: the latest that these threads have arrived in, from 1
  std::uint32_t failed_wait = ~std::uint32_t{0};  // operation whose wait has just failed
  Wait wait{};
  Poll poll{};
  std::vector<WordId> words{};                  // by register of the slice
  std::map<flow::TermId, Round> rounds{};       // by bound
  std::uint32_t undecided = ~std::uint32_t{0};  // operation whose guard is not decided
};

/// Lanes that know the same.
struct Group {
  Mask lanes = all_lanes;
  Clock clock{};
  // Of tcgen05: what comes before a fence::before_thread_sync, and what was acquired without a fence::after so far.
  EventSet tensor_fenced{}, tensor_arrived{};
};

/// An event of several lanes of which each knows its own part only; and the lanes that have fenced their part.
struct Part {
  EventId event = 0;
  Mask lanes = 0, fenced = 0;
};

/// Copies of one lane, or those that the threads of a warp make themselves; or wgmma.
struct CopyGroups {
  EventSet open{};
  std::vector<EventSet> committed{};
  void commit() { committed.push_back(std::exchange(open, {})); }
};

/// What lanes have read in flags by relaxed loads: a fence that acquires makes them know it.
struct Observation {
  Mask lanes = 0;
  bool wide = false;  // of another CTA: the fence must reach beyond the own one
  Clock clock{};
};

struct PendingLoad {
  EventId event = 0;
  std::vector<ir::RegisterId> registers{};
};

/// A warp: where its lanes stand, what they know, and what they have issued.
struct Warp {
  /// The lanes know that an event is over.
  void learn(Mask lanes, EventId);
  /// The lanes have made an access: one lane knows all of it, each of several its own part.
  void learn_own(Mask lanes, EventId);
  /// An event is over before all that the lanes do from now on, though they may not rely on it.
  void note_past(Mask lanes, EventId);
  /// The lanes know of the start of a CTA, or of another event that relaxed operations hand on too.
  void publish(Mask lanes, EventId);
  /// The lanes know of a release of tensor maps: their acquire covers it.
  void acquire_map(Mask lanes, EventId published);
  /// What the lanes hand on when they release: all that they know, and each its own part of what they did together.
  Clock released(Mask lanes);
  void acquire(Mask lanes, const Clock&);
  /// fence.proxy.async.
  void proxy_fence(Mask lanes);
  /// A fence after which relaxed operations hand on what the lanes know; `wide`: to other CTAs too.
  void release_fence(Mask lanes, bool wide);
  /// The lanes have read in a flag what hands this on.
  void observe(Mask lanes, const Clock&, bool wide);
  /// A fence that acquires what the lanes have read in flags.
  void acquire_fence(Mask lanes, bool wide);
  /// tcgen05.fence::before_thread_sync or ::after_thread_sync.
  void tensor_fence(Mask lanes, bool is_before);
  /// The lanes wait for each other, which orders no memory: what was over for one of them is over in time for all.
  void wait_for_lanes(Mask lanes);
  /// The lanes know the same from now on.
  void meet(Mask lanes);
  /// The set of each of the lanes' clocks has an event.
  bool all_have(Mask lanes, EventSet Clock::*set, EventId) const;
  /// What one lane knows of itself.
  const Clock& clock(int lane) const;

  std::vector<Fragment> fragments{};
  std::vector<Group> groups{};
  std::vector<Part> parts{};
  std::vector<Observation> observed{};
  std::map<int, CopyGroups> copies{};  // by lane
  CopyGroups own_copies{};             // cp.async, of the lanes that an event names
  CopyGroups wgmma{};                  // operations of its warpgroup, in the groups that this warp has committed
  std::map<int, EventSet> tensor{};    // tcgen05 operations that a lane has issued
  // By lane: phases that its asynchronous arrivals ended, and those on other CTAs. Its later ones come after them.
  std::map<int, EventSet> ended_phases{}, sent{};
  std::vector<PendingLoad> loads{};
  EventSet stores{};  // tcgen05.st not waited for
};

/// An arrival from another CTA; of a commit, what a thread knows that knows of its issue. 0: of none.
struct RemoteUse {
  EventId arrival = 0, issue = 0;
};

struct Barrier {
  std::uint64_t phase = 0;
  std::uint32_t expected = 0, pending = 0;
  std::int64_t tx = 0;
  Clock open{}, published{};
  EventId completed = 0, before = 0;         // the latest completion and the one before; 0: none yet
  // Of copies that end late (copies.hpp), in the current phase: how many, those of known size, and their bytes.
  std::uint32_t copies = 0, sized_copies = 0;
  std::int64_t late_bytes = 0;
  std::int64_t announced = 0;                // bytes that the current phase was told to expect
  const ir::Operation* announcer = nullptr;  // the last to tell it
  EventSet observers{};                      // observations of the latest completed phase
  EventId init = 0;
  std::vector<RemoteUse> users{};  // arrivals from other CTAs, the latest of each thread and instruction
  const ir::Operation* last = nullptr;

  /// Bytes that the current phase expects and no copy of known size brings; less than zero where copies bring more.
  std::int64_t outstanding() const { return tx - late_bytes; }
  /// The current phase tracks an asynchronous access; its issuer knew this.
  void track(EventId access, Proxy proxy, const Clock& issued) {
    open.join(issued);
    open.seen.add(access), open.past.add(access);
    if (proxy == Proxy::async) open.fenced.add(access);
  }
};

struct NamedBarrier {
  std::vector<EventId> arrivals{}, last_arrivals{};  // in this use, and in the one before
  std::uint32_t generation = 0, arrived = 0, expected = 0;
  bool awaits_all = false;  // of the CTA or the cluster: all threads that have not exited
  std::uint32_t gone = 0;   // threads that have exited and have not arrived in this use
  Clock open{}, published{};

  /// All threads that this use waits for have arrived.
  bool is_complete() const { return arrived != 0 && arrived + (awaits_all ? gone : 0) >= expected; }
};

/// A strong write of a flag, by a lane, and what it hands on to threads of its CTA (`near`) and to those of others
/// (`wide`).
struct FlagWrite {
  EventId event = 0;  // 0: what was there before
  std::optional<flow::TermId> word{};
  std::uint32_t cta = 0, warp = 0;
  int lane = 0;
  Clock near{}, wide{};
};

/// A word of shared memory that has been written strongly, or is waited for (flags.hpp).
struct Flag {
  std::uint32_t bytes = 0;
  std::vector<FlagWrite> writes{};  // those that some thread may read
  std::uint64_t first = 0;          // number of the first of them
  std::map<std::pair<std::uint32_t, std::uint32_t>, Mask>
      readers{};  // lanes that have read it in a loop, by CTA and warp

  std::uint64_t end() const { return first + writes.size(); }
};

struct Allocation {
  std::uint32_t columns = 0;
  const ir::Operation* operation = nullptr;
};

/// Words out of memory that are not known: what is read again before it changes is the same word.
using Unknowns = std::map<std::pair<std::uint32_t, std::uint32_t>, flow::TermId>;  // by address and kind of load

struct Cta {
  EventId started = 0;  // 0: it is the only one
  bool exited = false;
  std::uint32_t gone = 0;   // threads that have exited
  Clock departed{};         // what they knew
  bool trapped = false;     // some thread has trapped: the CTA owes nothing else
  std::uint32_t frees = 0;  // tcgen05.dealloc so far
  std::vector<Warp> warps{};
  std::map<std::uint32_t, Barrier> mbarriers{};
  std::map<std::uint32_t, NamedBarrier> barriers{};
  std::map<std::uint32_t, std::map<int, flow::TermId>> stored{};  // words in shared memory by address, by bytes
  Unknowns unknown{};                                             // in shared memory
  std::map<std::uint32_t, Flag> flags{};                          // by address
  Common<Intervals> shared{};
  std::vector<Common<Intervals>> tensor{};             // by block of 16 lanes: columns
  std::map<std::uint32_t, Allocation> allocations{};   // by first column
  std::uint32_t tiles = 0;                             // in shared memory: a TileSet
  std::map<std::uint32_t, tile::Accumulation> sums{};  // by the address of D
  // Tensor maps in global memory: the latest release by operation and warp, and whether any was acquired.
  std::map<std::pair<std::uint32_t, std::uint32_t>, EventId> published_maps{};
  EventId acquired_maps = 0;  // 0: none

  /// These bytes are written.
  void forget_unknown(std::uint32_t address, std::uint32_t bytes) {
    constexpr std::uint32_t most_bytes = 16;  // that a load reads
    unknown.erase(unknown.lower_bound({address < most_bytes ? 0 : address - most_bytes, 0}),
                  unknown.lower_bound({address + bytes, 0}));
  }
  /// These bytes are written by something else than a strong write of a word.
  void forget_flags(std::uint32_t address, std::uint32_t bytes) {
    constexpr std::uint32_t most_bytes = 8;  // of a flag
    flags.erase(flags.lower_bound(address < most_bytes ? 0 : address - most_bytes + 1),
                flags.lower_bound(address + bytes));
  }
  /// The words that were stored in these bytes are not known any more.
  void forget_words(std::uint32_t address, std::uint32_t bytes) {
    stored.erase(stored.lower_bound(address), stored.lower_bound(address + bytes));
  }
};

/// What is assumed.
struct Assumed {
  std::map<flow::TermId, bool> decided{};           // predicates
  std::map<flow::TermId, Domain> domains{};         // of sums without a number
  std::map<flow::TermId, std::uint64_t> settled{};  // leaves that can be one number alone
};

struct State : Assumed {
  std::vector<Cta> ctas{};
  NamedBarrier cluster{};
  std::vector<Event> events{Event{}};              // event 0 is none
  Unknowns unknown{};                              // in global memory that does not change, by address as a term
  std::map<flow::TermId, std::uint32_t> closed{};  // by bound: no thread joins rounds up to this one any more
  Assumed path{};                                  // what was assumed on the way here, of bounds in all rounds
  bool contradicts =
      false;               // no numbers are known under which a run goes this way; it stands for others that come here
  bool is_merged = false;  // it stands for several states: threads may know more
  bool guessed = false;    // something is assumed of a word out of memory; the kernel may know that it is not so

  bool is_doubtful() const { return contradicts || is_merged; }
  EventId add(const Event& e) { return events.push_back(e), EventId(events.size() - 1); }
};

/// Calls f(Warp&) for each warp of a state.
template <class S, class F>
void each_warp(S& s, F f) {
  for (auto& cta : s.ctas)
    for (auto& w : cta.warps) f(w);
}
/// Calls f(Fragment&) for each group of threads that stand together.
template <class S, class F>
void each_fragment(S& s, F f) {
  each_warp(s, [&](auto& w) { std::for_each(w.fragments.begin(), w.fragments.end(), f); });
}
template <class F>
bool any_fragment(const State& s, F f) {
  bool any = false;
  each_fragment(s, [&](const Fragment& x) { any = any || f(x); });
  return any;
}
/// Calls f(Barrier&) or f(NamedBarrier&) for each barrier.
template <class S, class F>
void each_barrier(S& s, F f) {
  for (auto& cta : s.ctas) {
    for (auto& [at, b] : cta.mbarriers) f(b);
    for (auto& [id, b] : cta.barriers) f(b);
  }
  f(s.cluster);
}
/// Calls f(Clock&) for what each barrier hands on and each group of lanes knows.
template <class S, class F>
void each_clock(S& s, F f) {
  each_barrier(s, [&](auto& b) { f(b.open), f(b.published); });
  for (auto& cta : s.ctas) {
    f(cta.departed);
    for (auto& [at, flag] : cta.flags)
      for (auto& w : flag.writes) f(w.near), f(w.wide);
  }
  each_warp(s, [&](auto& w) {
    for (auto& g : w.groups) f(g.clock);
    for (auto& o : w.observed) f(o.clock);
  });
}
/// Calls f(EventSet&) for each set of events that threads know of or hand on, the same number of times in the same
/// order for states of one key (key.hpp).
template <class S, class F>
void each_known(S& s, F f) {
  each_clock(s, [&](auto& c) { each_set_of(c, f); });
  each_warp(s, [&](auto& w) {
    for (auto& g : w.groups) f(g.tensor_fenced), f(g.tensor_arrived);
    for (auto& [lane, e] : w.tensor) f(e);
    for (auto& [lane, e] : w.ended_phases) f(e);
    for (auto& [lane, e] : w.sent) f(e);
  });
}

}  // namespace kiln::verifier::explore
