// Asynchronous operations in flight: what happens when, in simulated time (one tick per warp instruction of the
// cluster).
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "ptx/ir/code.hpp"

namespace kiln::sim {

/// Something that an asynchronous unit does later. `operation` is the instruction that asked for it.
struct Event {
  std::uint64_t time = 0;
  std::uint64_t order = 0;  // of issue: decides between equal times
  const ir::Operation* operation = nullptr;
  std::function<void()> action{};
};

/// Events by time.
class EventQueue {
 public:
  void add(std::uint64_t time, const ir::Operation* operation, std::function<void()> action) {
    queue_.push({time, ++order_, operation, std::move(action)});
  }
  bool empty() const { return queue_.empty(); }
  std::uint64_t next_time() const { return queue_.top().time; }
  Event take() {
    Event e = std::move(const_cast<Event&>(queue_.top()));  // popped at once: nobody sees it moved from
    queue_.pop();
    return e;
  }

 private:
  struct Later {
    bool operator()(const Event& x, const Event& y) const {
      return x.time != y.time ? x.time > y.time : x.order > y.order;
    }
  };
  std::priority_queue<Event, std::vector<Event>, Later> queue_;
  std::uint64_t order_ = 0;
};

}  // namespace kiln::sim
