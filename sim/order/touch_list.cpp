#include "sim/order/touch_list.hpp"

namespace kiln::sim {

TouchLists::List& TouchLists::change(TouchListId& id) {
  if (id && lists_[id - 1].users == 1) return lists_[id - 1].entries;
  if (free_.empty()) {
    lists_.emplace_back();
    free_.push_back(TouchListId(lists_.size()));
  }
  const TouchListId own = free_.back();
  free_.pop_back();
  lists_[own - 1].users = 1;
  if (id) lists_[own - 1].entries = lists_[id - 1].entries;
  drop(id);
  id = own;
  return lists_[own - 1].entries;
}

std::size_t TouchLists::memory() const {
  std::size_t bytes = 0;
  for (const Shared& l : lists_) bytes += sizeof(Shared) + l.entries.capacity() * sizeof(Entry);
  return bytes;
}

}  // namespace kiln::sim
