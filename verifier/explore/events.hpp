// What threads and barriers know: sets of events. An event is an access, the end of an asynchronous operation or the
// completion of a phase. Events are renumbered when nothing refers to some any more, so sets stay small.
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
  bool operator==(const EventSet& o) const { return within(o) && o.within(*this); }
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
  EventSet followed{};   // arrivals on other CTAs whose threads have made a later one that is over
  EventSet ended{};      // they were over before an instruction at which lanes wait for each other
  EventSet handed{};     // a fence that releases comes after them: relaxed operations after it hand them on
  EventSet handed_wide{};  // the same of a fence that reaches beyond the CTA

  static constexpr EventSet Clock::*sets[] = {&Clock::seen,   &Clock::fenced,   &Clock::past, &Clock::published,
                                              &Clock::met,    &Clock::tensor,   &Clock::maps, &Clock::handed_wide,
                                              &Clock::handed, &Clock::followed, &Clock::ended};

  void join(const Clock& o) {
    for (const auto set : sets) (this->*set).join(o.*set);
  }
  void meet(const Clock& o) {
    for (const auto set : sets) (this->*set).meet(o.*set);
  }
  /// What a relaxed operation hands on, after the fences of one of these two sets.
  Clock relaxed(EventSet Clock::*by_fences = &Clock::handed) const {
    Clock out;
    out.seen = out.handed = this->*by_fences;
    out.handed_wide = handed_wide;
    out.past = past;
    out.published = published;
    out.met = met;
    return out;
  }
};

/// Calls f(EventSet&) for each set of a clock.
template <class C, class F>
void each_set_of(C& c, F f) {
  for (const auto set : Clock::sets) f(c.*set);
}

}  // namespace kiln::verifier::explore
