// What cells of a shadow remember beyond one write and one read. Neighbouring cells mostly see the same accesses, so
// they share one list until one of them changes: a tile costs what one of its cells does.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/lanes.hpp"
#include "sim/order/access.hpp"

namespace kiln::sim {

/// An access as a cell remembers it.
struct Touch {
  AccessId access = 0;
  Mask lanes = 0;           // of the warp
  std::uint32_t bytes = 0;  // of the granule, a bit each

  bool operator==(const Touch&) const = default;
};

/// Index of a list; 0 is none.
using TouchListId = std::uint32_t;

/// Lists with a count of the cells that use each.
class TouchLists {
 public:
  struct Entry {
    Touch touch{};
    bool is_write = false;
    bool is_kept = false;  // a write came after it, and did not take its place
  };
  using List = std::vector<Entry>;

  const List& at(TouchListId id) const { return lists_[id - 1].entries; }
  void keep(TouchListId id, std::uint32_t cells = 1) {
    if (id) lists_[id - 1].users += cells;
  }
  void drop(TouchListId id, std::uint32_t cells = 1) {
    if (id == 0 || (lists_[id - 1].users -= cells)) return;
    lists_[id - 1].entries.clear();
    free_.push_back(id);
  }
  /// The list for changing by one of its users, which has its own from then on; 0 makes a new one.
  List& change(TouchListId& id);
  /// Calls f(AccessId&) for everything that any list remembers.
  template <class F>
  void each_access(F f) {
    for (Shared& l : lists_)
      for (Entry& e : l.entries) f(e.touch.access);
  }
  void clear() { lists_.clear(), free_.clear(); }
  std::size_t memory() const;

 private:
  struct Shared {
    List entries{};
    std::uint32_t users = 0;
  };

  std::vector<Shared> lists_;
  std::vector<TouchListId> free_;
};

}  // namespace kiln::sim
