#include "sim/order/shadow.hpp"

namespace kiln::sim {

Shadow::List& Shadow::list_of(Cell& c) {
  if (c.more) return lists_[c.more - 1];
  if (free_.empty()) {
    lists_.emplace_back();
    free_.push_back(std::uint32_t(lists_.size()));
  }
  c.more = free_.back();
  free_.pop_back();
  return lists_[c.more - 1];
}

void Shadow::write(std::size_t cell, Touch t) {
  Cell& c = cells_[cell];
  remove(c.read, t.bytes);
  if (c.more) {
    List& list = lists_[c.more - 1];
    for (Entry& e : list) remove(e.touch, t.bytes);
    std::erase_if(list, [](const Entry& e) { return e.touch.bytes == 0; });
    if (list.empty()) {
      free_.push_back(c.more);
      c.more = 0;
    }
  }
  if (c.write.access == t.access && c.write.lanes == t.lanes) {
    c.write.bytes |= t.bytes;
    return;
  }
  remove(c.write, t.bytes);
  if (c.write.bytes) list_of(c).push_back({c.write, true});
  c.write = t;
}

void Shadow::forget(std::size_t first, std::size_t n) {
  for (std::size_t i = first; i < first + n && i < cells_.size(); ++i) {
    if (cells_[i].more) {
      lists_[cells_[i].more - 1].clear();
      free_.push_back(cells_[i].more);
    }
    cells_[i] = {};
  }
}

std::size_t Shadow::list_bytes() const {
  std::size_t bytes = 0;
  for (const List& l : lists_) bytes += sizeof(List) + l.capacity() * sizeof(Entry);
  return bytes;
}

}  // namespace kiln::sim
