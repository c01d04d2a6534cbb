// Tensor memory of one CTA: 128 lanes x 512 columns of 32-bit cells, the allocations, and which cells hold something.
// PTX ISA "Tensor Memory".
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ptx/isa/tmem.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::sim {

/// The columns that the CTAs of one SM have taken between them.
struct ColumnMap {
  std::array<bool, isa::tmem_columns> taken{};
  std::int64_t free() const { return std::count(taken.begin(), taken.end(), false); }
};

/// The cells, the allocation map and the state that the allocation rules walk.
class TensorMemory {
 public:
  TensorMemory();

  /// Sums that are still to be computed, for cells that have not been read since.
  struct Debt {
    virtual ~Debt() = default;
    virtual void settle() = 0;
  };
  /// From now on an access to a cell computes the sums of `debt` first. One at a time.
  void owe(std::shared_ptr<Debt> debt) { debt_ = std::move(debt); }
  bool owes(const Debt* debt) const { return debt_.get() == debt; }
  void forgive() { debt_.reset(); }
  /// Computes the sums that are due, if any.
  void settle() {
    if (const auto debt = std::exchange(debt_, nullptr)) debt->settle();
  }

  /// Everything free, nothing written. The SM's map is unchanged.
  void reset();
  /// From now on columns are shared with other CTAs through the SM's map; null: all belong to this CTA.
  void share(ColumnMap* sm) { sm_ = sm; }
  /// Columns that are not allocated.
  std::int64_t unallocated() const { return sm_ ? sm_->free() : isa::tmem_columns - state_.live; }

  /// The first column of a new allocation; nothing when no gap is large enough (the instruction then waits). Faults for
  /// a column count that the rules forbid and for an allocation after relinquish.
  /// `exclusive`: waits until no CTA of the SM holds columns, and holds all of them.
  std::optional<std::uint32_t> allocate(std::int64_t columns, bool exclusive = false);
  /// Frees a live allocation; faults when there is none at that column with that size.
  void release(std::uint32_t column, std::int64_t columns);
  void relinquish();
  /// The verdict on leaving the CTA now.
  rules::Verdict leave() const;
  std::int64_t allocated() const { return state_.live; }

  /// Faults unless every column of [first, first + n) is allocated; `what` names the access.
  void check_columns(int first, int n, const char* what) const;
  /// How many of the columns [first, first + n) are allocated before the first one that is not.
  int allocated_from(int first, int n) const;

  /// Cells are row-major by lane: cell(lane, column)[1] is the next column. What is owed is settled first.
  std::uint32_t* cell(int lane, int column) {
    if (debt_) settle();
    return cells_.data() + index(lane, column);
  }
  /// Sums that are owed leave the marks as they are.
  std::uint8_t* written(int lane, int column) { return written_.data() + index(lane, column); }
  static constexpr int lane_stride = isa::tmem_columns;

  /// What `written` says of a cell. `poison`: it was written, with poison. It is not published where in its byte
  /// tcgen05.cp leaves a decompressed 6-bit element, so such cells are marked: the tensor core reads back what it
  /// wrote; for other readers the run is incomplete.
  enum CellState : std::uint8_t { unwritten, known, six_bit_containers, poison };
  static bool is_poison(std::uint8_t mark) { return mark == unwritten || mark == poison; }
  bool is_unwritten(int lane, int column) const { return written_[index(lane, column)] == unwritten; }
  void mark(int lane, int column, int n, CellState state);
  /// A column of `n` whose cell is poison or was never written; nothing when none is.
  std::optional<int> poison_at(int lane, int column, int n) const {
    const std::uint8_t* const marks = written_.data() + index(lane, column);
    const void* found = std::memchr(marks, unwritten, std::size_t(n));
    if (!found && has_poison_) found = std::memchr(marks, poison, std::size_t(n));
    return found ? std::optional(column + int(static_cast<const std::uint8_t*>(found) - marks)) : std::nullopt;
  }
  /// What stands for the columns around one in PoisonSources: all lanes together.
  const std::uint8_t* line_of(int column) const { return written_.data() + column; }
  /// Ends the run as incomplete if one of `n` cells holds 6-bit containers; `what` names the reader.
  void require_known(int lane, int column, int n, const char* what) const;
  /// The same if one of them does not.
  void require_six_bit(int lane, int column, int n) const;

 private:
  static std::size_t index(int lane, int column) { return std::size_t(lane) * lane_stride + std::size_t(column); }

  std::vector<std::uint32_t> cells_;
  std::vector<std::uint8_t> written_;
  std::array<std::int16_t, isa::tmem_columns> owner_{};  // first column of the allocation, -1: free
  isa::AllocState state_{};
  bool exclusive_ = false;  // the allocation is
  ColumnMap* sm_ = nullptr;
  std::vector<std::pair<std::uint32_t, std::int64_t>> live_;
  std::shared_ptr<Debt> debt_{};
  bool has_six_bit_ = false, has_poison_ = false;  // somewhere, at some time
};

}  // namespace kiln::sim
