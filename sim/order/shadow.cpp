#include "sim/order/shadow.hpp"

namespace kiln::sim {

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
      return;
    }
  list.push_back({t, kept.is_write, true});
}

void Shadow::forget(std::size_t first, std::size_t n) {
  for (std::size_t i = first; i < first + n && i < cells_.size(); ++i) {
    lists_->drop(cells_[i].more);
    cells_[i] = {};
  }
}

}  // namespace kiln::sim
