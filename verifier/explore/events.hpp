// What threads and barriers know: sets of events, an event being an access, the end of an asynchronous operation or the
// completion of a phase. Events that nothing refers to any more are numbered anew, so sets stay small.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace kiln::verifier::explore {

using EventId = std::uint32_t;

class EventSet {
 public:
  bool has(EventId e) const { return e / 64 < words_.size() && (words_[e / 64] >> e % 64 & 1) != 0; }
  void add(EventId e) {
    if (words_.size() <= e / 64) words_.resize(e / 64 + 1);
    words_[e / 64] |= std::uint64_t{1} << e % 64;
  }
  void join(const EventSet& o) {
    if (words_.size() < o.words_.size()) words_.resize(o.words_.size());
    for (std::size_t i = 0; i < o.words_.size(); ++i) words_[i] |= o.words_[i];
  }
  bool empty() const {
    return std::all_of(words_.begin(), words_.end(), [](std::uint64_t w) { return w == 0; });
  }
  void meet(const EventSet& o) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= i < o.words_.size() ? o.words_[i] : 0;
  }
  void remove(const EventSet& o) {
    for (std::size_t i = 0; i < std::min(words_.size(), o.words_.size()); ++i) words_[i] &= ~o.words_[i];
  }
  bool within(const EventSet& o) const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (words_[i] & ~(i < o.words_.size() ? o.words_[i] : 0)) return false;
    return true;
  }
  /// Calls f(EventId) for each event in rising order.
  template <class F>
  void each(F f) const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      for (std::uint64_t w = words_[i]; w; w &= w - 1) f(EventId(i * 64 + std::size_t(std::countr_zero(w))));
  }
  /// The events that `number` keeps, under their new numbers; ~0 forgets one.
  EventSet renumbered(const std::vector<EventId>& number) const {
    EventSet out;
    each([&](EventId e) {
      if (number[e] != ~EventId{0}) out.add(number[e]);
    });
    return out;
  }

 private:
  std::vector<std::uint64_t> words_{};
};

/// What a thread knows of events, or hands on.
struct Clock {
  EventSet seen{};       // they are over, and the thread may rely on it
  EventSet fenced{};     // seen, and a proxy fence that the thread knows of comes after them
  EventSet past{};       // they are over in time, though the thread may not rely on it: what came before a copy's issue
  EventSet published{};  // initialisations of mbarriers and starts of CTAs that relaxed operations hand on too
  EventSet met{};        // seen by a thread that arrived, perhaps relaxed, at a cluster barrier before this one left it
  EventSet tensor{};     // tcgen05.fence orders them before the thread's operations on tensor memory
  EventSet maps{};       // tensor maps that were published and then acquired
  EventSet handed{};     // a fence that releases comes after them: relaxed operations after it hand them on

  void join(const Clock& o) {
    seen.join(o.seen), fenced.join(o.fenced), past.join(o.past), published.join(o.published), met.join(o.met);
    tensor.join(o.tensor), maps.join(o.maps), handed.join(o.handed);
  }
  void meet(const Clock& o) {
    seen.meet(o.seen), fenced.meet(o.fenced), past.meet(o.past), published.meet(o.published), met.meet(o.met);
    tensor.meet(o.tensor), maps.meet(o.maps), handed.meet(o.handed);
  }
  /// What is left of it where nothing is released but by a fence.
  Clock relaxed() const {
    Clock out;
    out.seen = out.handed = handed;
    out.past = past;
    out.published = published;
    out.met = met;
    return out;
  }
};

/// Calls f(EventSet&) for each set of a clock.
template <class C, class F>
void each_set_of(C& c, F f) {
  f(c.seen), f(c.fenced), f(c.past), f(c.published), f(c.met), f(c.tensor), f(c.maps), f(c.handed);
}

}  // namespace kiln::verifier::explore
