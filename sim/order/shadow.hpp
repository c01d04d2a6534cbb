// Who touched which bytes last: for every granule of 16 bytes the last writer, and who has read since.
//
// Tensor memory is kept in the same cells: 16 lanes of one column each, a bit of the byte mask for a lane.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/isa/tmem.hpp"
#include "sim/lanes.hpp"
#include "sim/order/access.hpp"

namespace kiln::sim {

/// An access as a cell remembers it.
struct Touch {
  AccessId access = 0;
  Mask lanes = 0;           // of the warp
  std::uint16_t bytes = 0;  // of the granule

  bool operator==(const Touch&) const = default;
};

/// Lanes of tensor memory in one cell, and the cells of a CTA's.
inline constexpr int tensor_block_lanes = 16;
inline constexpr std::size_t tensor_memory_cells =
    std::size_t(isa::tmem_lanes / tensor_block_lanes) * isa::tmem_columns;

/// One granule. The last write and the last read lie in the cell, further ones in its list.
struct Cell {
  Touch write{};
  Touch read{};
  std::uint32_t more = 0;  // 1 + index of a list; 0: none

  bool operator==(const Cell&) const = default;
};

/// The cells of one memory.
class Shadow {
 public:
  static constexpr std::uint32_t granule = 16;
  /// Bytes [first, last) of a granule, a bit for each.
  static constexpr std::uint16_t mask(std::uint64_t first, std::uint64_t last) {
    return std::uint16_t(((1u << (last - first)) - 1) << first);
  }

  void reset(std::size_t cells) {
    cells_.assign(cells, {});
    lists_.clear();
    free_.clear();
  }
  std::size_t size() const { return cells_.size(); }
  std::size_t memory() const { return cells_.capacity() * sizeof(Cell) + list_bytes(); }
  Cell& at(std::size_t i) { return cells_[i]; }

  /// Calls f(touch, is_write) for everything in the cell that overlaps `bytes`.
  template <class F>
  void each(std::size_t cell, std::uint16_t bytes, F f) const {
    const Cell& c = cells_[cell];
    if (c.write.bytes & bytes) f(c.write, true);
    if (c.read.bytes & bytes) f(c.read, false);
    if (c.more)
      for (const Entry& e : lists_[c.more - 1])
        if (e.touch.bytes & bytes) f(e.touch, e.is_write);
  }

  /// Calls f(AccessId&) for everything that any cell remembers.
  template <class F>
  void each_access(F f) {
    for (Cell& c : cells_) {
      if (c.write.bytes) f(c.write.access);
      if (c.read.bytes) f(c.read.access);
    }
    for (List& l : lists_)
      for (Entry& e : l) f(e.touch.access);
  }

  /// Records a write, which takes the place of everything before it on its bytes.
  void write(std::size_t cell, Touch t);
  /// Records a read. Earlier reads for which `supersedes(touch)` holds are forgotten.
  template <class F>
  void read(std::size_t cell, Touch t, F supersedes) {
    Cell& c = cells_[cell];
    if (c.read.bytes == 0 || ((c.read.bytes & ~t.bytes) == 0 && supersedes(c.read))) {
      c.read = t;
    } else if (c.read.access == t.access && c.read.bytes == t.bytes) {
      c.read.lanes |= t.lanes;
      return;
    } else {
      add_read(c, t, supersedes);
    }
  }
  /// Forgets everything in cells [first, first + n).
  void forget(std::size_t first, std::size_t n);

 private:
  struct Entry {
    Touch touch{};
    bool is_write = false;
  };
  using List = std::vector<Entry>;

  List& list_of(Cell& c);
  std::size_t list_bytes() const;
  static void remove(Touch& t, std::uint16_t bytes) { t.bytes = std::uint16_t(t.bytes & ~bytes); }

  template <class F>
  void add_read(Cell& c, Touch t, F supersedes) {
    List& list = list_of(c);
    for (Entry& e : list) {
      if (e.is_write || e.touch.bytes & ~t.bytes) continue;
      if (e.touch.access == t.access && e.touch.bytes == t.bytes) {
        e.touch.lanes |= t.lanes;
        return;
      }
      if (!supersedes(e.touch)) continue;
      e.touch = t;
      return;
    }
    list.push_back({t, false});
  }

  std::vector<Cell> cells_;
  std::vector<List> lists_;
  std::vector<std::uint32_t> free_;
};

}  // namespace kiln::sim
