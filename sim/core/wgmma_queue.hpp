// The wgmma operations that one warp has issued and not waited for.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "sim/core/observer.hpp"

namespace kiln::sim {

/// One warp's operations that are not done, and its groups that no wait has covered.
struct WgmmaQueue {
  struct Op {
    const ir::Operation* operation = nullptr;
    AsyncId id = 0;
    std::function<void()> action{};
  };
  /// Registers (offsets in the file) that belong to the tensor core until a wait covers the operation.
  struct Held {
    std::uint64_t number = 0;  // of the operation, counted from 1
    std::vector<std::uint32_t> registers{};
    bool was_touched = false;  // and reported
  };
  std::deque<Op> waiting{};
  std::uint64_t issued = 0, completed = 0;
  bool busy = false;
  bool fenced = false;                 // wgmma.fence has been executed
  std::uint64_t committed = 0;         // groups
  std::deque<std::uint64_t> groups{};  // not waited for: operations issued when each was committed
  std::deque<Held> held{};
};

}  // namespace kiln::sim
