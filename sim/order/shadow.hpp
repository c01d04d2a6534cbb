// The last accesses to memory: for every granule of 16 bytes the last write, and the reads since.
//
// Tensor memory is kept in the same cells: 16 lanes of one column each, a bit of the byte mask for a lane.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "ptx/isa/tmem.hpp"
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

/// What cells remember beyond one write and one read. Neighbouring cells mostly see the same accesses, so they share
/// one list until one of them changes: a tile costs what one of its cells does.
class TouchLists {
 public:
  struct Entry {
    Touch touch{};
    bool is_write = false;
    bool is_kept = false;      // a write came after it, and did not take its place
    bool is_replaced = false;  // one that was no atomic operation: what reads there later does not observe this
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
  std::size_t memory() const;

 private:
  struct Shared {
    List entries{};
    std::uint32_t users = 0;
  };

  std::vector<Shared> lists_;
  std::vector<TouchListId> free_;
};

/// Lanes of tensor memory in one cell, and the cells of a CTA's.
inline constexpr int tensor_block_lanes = 16;
inline constexpr std::size_t tensor_memory_cells =
    std::size_t(isa::tmem_lanes / tensor_block_lanes) * isa::tmem_columns;

/// One granule. The last write and the last read lie in the cell, further ones in its list.
struct Cell {
  Touch write{};
  Touch read{};
  TouchListId more = 0;
  std::uint32_t unused = 0;

  /// All of it, for comparing without a branch for each field.
  using Words = std::array<std::uint64_t, 4>;
  Words words() const {
    static_assert(sizeof(Cell) == sizeof(Words) && std::has_unique_object_representations_v<Cell>);
    return std::bit_cast<Words>(*this);
  }
};

/// The cells of one memory, or of a page of it.
class Shadow {
 public:
  static constexpr std::uint32_t granule = 16;
  /// Bytes [first, last) of a granule, a bit for each.
  static constexpr std::uint16_t mask(std::uint64_t first, std::uint64_t last) {
    return std::uint16_t(((1u << (last - first)) - 1) << first);
  }

  /// For an empty shadow; the lists of its cells are in `lists`.
  void start(TouchLists& lists, std::size_t cells) {
    lists_ = &lists;
    cells_.resize(cells);
  }
  std::size_t size() const { return cells_.size(); }
  std::size_t memory() const { return cells_.capacity() * sizeof(Cell); }
  const Cell& at(std::size_t i) const { return cells_[i]; }
  /// Makes cells from `first` on that look like `before` look like `after`, and stops at `end` or the first other one,
  /// which it returns.
  std::size_t replace(std::size_t first, std::size_t end, const Cell& before, const Cell& after) {
    // Asked of every cell that is touched, so copies that the compiler keeps in registers.
    const Cell::Words from = before.words(), to = after.words();
    const TouchListId less = before.more, more = after.more;
    Cell* const cells = cells_.data();
    std::size_t at = first;
    for (; at < end; ++at) {
      const Cell::Words w = cells[at].words();
      if ((w[0] ^ from[0]) | (w[1] ^ from[1]) | (w[2] ^ from[2]) | (w[3] ^ from[3])) break;
      cells[at] = std::bit_cast<Cell>(to);
    }
    if (at > first && less | more) {
      lists_->keep(more, std::uint32_t(at - first));
      lists_->drop(less, std::uint32_t(at - first));
    }
    return at;
  }

  /// Calls f(entry) for everything in the cell that overlaps `bytes`.
  template <class F>
  void each(std::size_t cell, std::uint16_t bytes, F f) const {
    const Cell& c = cells_[cell];
    if (c.write.bytes & bytes) f(TouchLists::Entry{c.write, true});
    if (c.read.bytes & bytes) f(TouchLists::Entry{c.read, false});
    if (c.more)
      for (const TouchLists::Entry& e : lists_->at(c.more))
        if (e.touch.bytes & bytes) f(e);
  }

  /// Calls f(AccessId&) for everything that any cell remembers outside its list.
  template <class F>
  void each_access(F f) {
    for (Cell& c : cells_) {
      if (c.write.bytes) f(c.write.access);
      if (c.read.bytes) f(c.read.access);
    }
  }

  /// Records a write, which takes the place of everything before it on its bytes.
  void write(std::size_t cell, Touch t);
  /// Records again what a write has displaced although it is not ordered before it.
  void keep(std::size_t cell, const TouchLists::Entry&);
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
  /// Forgets everything in cells [first, first + n), or in all.
  void forget(std::size_t first, std::size_t n);
  void forget() { forget(0, cells_.size()); }

 private:
  // An empty touch has no other fields, so that cells which remember the same look the same.
  static void remove(Touch& t, std::uint16_t bytes) {
    t.bytes = std::uint16_t(t.bytes & ~bytes);
    if (t.bytes == 0) t = {};
  }

  template <class F>
  void add_read(Cell& c, Touch t, F supersedes) {
    TouchLists::List& list = lists_->change(c.more);
    for (TouchLists::Entry& e : list) {
      if (e.is_write || e.is_kept || e.touch.bytes & ~t.bytes) continue;
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
  TouchLists* lists_ = nullptr;
};

}  // namespace kiln::sim
