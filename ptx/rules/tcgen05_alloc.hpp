// Tensor-memory allocation: how many columns, and in which order alloc, relinquish and dealloc may come.
#pragma once

#include <algorithm>
#include <bit>

#include "ptx/isa/tmem.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// The column count of tcgen05.alloc and tcgen05.dealloc.
constexpr Verdict alloc_columns(std::int64_t n) {
  using namespace isa;
  if (n >= tmem_min_allocation && n <= tmem_columns && std::has_single_bit(std::uint64_t(n))) return legal;
  const std::int64_t near = n < tmem_min_allocation ? tmem_min_allocation
                            : n > tmem_columns      ? tmem_columns
                                                    : std::int64_t(std::bit_ceil(std::uint64_t(n)));
  return breaks(Rule::alloc_columns, n, near);
}

/// `columns` columns from `first` inside an allocation of `allocated`, all relative to its start.
constexpr Verdict tmem_range(std::int64_t first, std::int64_t columns, std::int64_t allocated) {
  if (first >= 0 && first + columns <= allocated) return legal;
  return breaks(Rule::tmem_range, first < 0 ? first : first + columns, allocated);
}

/// Columns of tensor memory, relative to some start.
struct ColumnRange {
  std::int64_t first = 0, count = 0;
  constexpr std::int64_t end() const { return first + count; }
};

constexpr bool overlap(ColumnRange a, ColumnRange b) { return a.first < b.end() && b.first < a.end(); }

/// The columns of D and of an operand that the same MMA reads, on the same lanes. The verdict carries the first common
/// column.
constexpr Verdict mma_overlap(ColumnRange d, ColumnRange read) {
  return overlap(d, read) ? breaks(Rule::mma_overlap, std::max(d.first, read.first)) : legal;
}

/// The sum of a kernel's tensor-memory handles.
constexpr Verdict tmem_budget(std::int64_t columns) {
  return columns <= isa::tmem_columns ? legal : breaks(Rule::tmem_budget, columns, isa::tmem_columns);
}

/// A dealloc of `columns` where the allocation to free has `allocated`; 0: there is none.
constexpr Verdict dealloc_size(std::int64_t columns, std::int64_t allocated) {
  return columns == allocated ? legal : breaks(Rule::dealloc_size, columns, allocated);
}

/// The tensor memory that a CTA holds along one path. The verifier joins it over paths, the simulator follows one.
struct AllocState {
  std::int64_t live = 0;  // columns
  bool relinquished = false;
  constexpr bool operator==(const AllocState&) const = default;
};

enum class AllocEvent : std::uint8_t { alloc, dealloc, relinquish, use, exit };

struct AllocStep {
  AllocState next;
  Verdict verdict;
};

/// One event on the state; `columns` is the operand of alloc and dealloc.
constexpr AllocStep step(AllocState s, AllocEvent e, std::int64_t columns = 0) {
  switch (e) {
    case AllocEvent::alloc:
      if (s.relinquished) return {s, breaks(Rule::alloc_relinquished, columns)};
      if (s.live + columns > isa::tmem_columns)
        return {s, breaks(Rule::alloc_budget, s.live + columns, isa::tmem_columns)};
      return {{s.live + columns, false}, legal};
    case AllocEvent::dealloc:
      if (columns > s.live) return {{0, s.relinquished}, breaks(Rule::dealloc_size, columns, s.live)};
      return {{s.live - columns, s.relinquished}, legal};
    case AllocEvent::relinquish: return {{s.live, true}, legal};
    case AllocEvent::use: return {s, s.live > 0 ? legal : breaks(Rule::tmem_unallocated)};
    case AllocEvent::exit: return {s, s.live == 0 ? legal : breaks(Rule::alloc_leak, s.live, 0)};
  }
  return {s, legal};
}

/// `touched`: the kernel may access columns that a smaller allocation would not have.
constexpr Verdict alloc_unused(bool touched, std::int64_t columns) {
  return touched ? legal : breaks(Rule::alloc_unused, columns);
}

}  // namespace kiln::rules
