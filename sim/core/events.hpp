// Asynchronous operations in flight: what happens when, in simulated time (one tick per warp instruction of the
// cluster).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ptx/ir/code.hpp"

namespace kiln::sim {

/// Something that an asynchronous unit does later. `operation` is the instruction that asked for it.
struct Event {
  std::uint64_t time = 0;
  std::uint64_t order = 0;  // of issue: decides between equal times
  std::uint64_t name = 0;   // of the actor that asked and its count of requests: the same in every schedule
  std::uint64_t warp = 0;   // name of the warp that it works for
  const ir::Operation* operation = nullptr;
  std::function<void()> action{};
};

/// Events by time.
class EventQueue {
 public:
  void add(Event e) {
    e.order = ++order_;
    heap_.push_back(std::move(e));
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  bool empty() const { return heap_.empty(); }
  std::uint64_t next_time() const { return heap_.front().time; }
  Event take() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Event e = std::move(heap_.back());
    heap_.pop_back();
    return e;
  }
  /// All that are in flight, in no particular order.
  std::span<const Event> pending() const { return heap_; }
  /// Takes one out of turn, by its place in pending().
  Event take(std::size_t at) {
    Event e = std::move(heap_[at]);
    heap_.erase(heap_.begin() + std::ptrdiff_t(at));
    std::make_heap(heap_.begin(), heap_.end(), later);
    return e;
  }

 private:
  static bool later(const Event& x, const Event& y) { return x.time != y.time ? x.time > y.time : x.order > y.order; }
  std::vector<Event> heap_{};
  std::uint64_t order_ = 0;
};

}  // namespace kiln::sim
