#include "sim/order/shadow.hpp"

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

void Shadow::write(std::size_t cell, Touch t) {
  Cell& c = cells_[cell];
  remove(c.read, t.bytes);
  if (c.more) {
    TouchLists::List& list = lists_->change(c.more);
    for (TouchLists::Entry& e : list) remove(e.touch, t.bytes);
    std::erase_if(list, [](const TouchLists::Entry& e) { return e.touch.bytes == 0; });
    if (list.empty()) {
      lists_->drop(c.more);
      c.more = 0;
    }
  }
  if (c.write.access == t.access && c.write.lanes == t.lanes) {
    c.write.bytes |= t.bytes;
    return;
  }
  remove(c.write, t.bytes);
  if (c.write.bytes) lists_->change(c.more).push_back({c.write, true});
  c.write = t;
}

void Shadow::keep(std::size_t cell, const TouchLists::Entry& kept) {
  Cell& c = cells_[cell];
  const Touch& t = kept.touch;
  if (kept.is_write && c.write.access == t.access && c.write.bytes == t.bytes) {
    c.write.lanes |= t.lanes;
    return;
  }
  TouchLists::List& list = lists_->change(c.more);
  for (TouchLists::Entry& e : list)
    if (e.is_kept && e.is_write == kept.is_write && e.touch.access == t.access && e.touch.bytes == t.bytes) {
      e.touch.lanes |= t.lanes;
      e.is_replaced |= kept.is_replaced;
      return;
    }
  list.push_back(kept);
}

void Shadow::forget(std::size_t first, std::size_t n) {
  for (std::size_t i = first; i < first + n && i < cells_.size(); ++i) {
    lists_->drop(cells_[i].more);
    cells_[i] = {};
  }
}

}  // namespace kiln::sim
