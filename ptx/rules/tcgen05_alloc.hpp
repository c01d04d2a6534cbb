// Tensor-memory allocation: how many columns, and in which order alloc, relinquish and dealloc may come.
#pragma once

#include <algorithm>
#include <bit>

#include "ptx/isa/tmem.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// The column count of tcgen05.alloc and tcgen05.dealloc. `exclusive`: any multiple of 32, and on sm_107 more of them.
constexpr Verdict alloc_columns(std::int64_t n, bool exclusive = false, isa::Target target = isa::sm_100a) {
  using namespace isa;
  if (exclusive) {
    const std::int64_t most = exclusive_tmem_columns(target);
    if (n >= tmem_min_allocation && n <= most && n % tmem_min_allocation == 0) return legal;
    const std::int64_t up = (n + tmem_min_allocation - 1) / tmem_min_allocation * tmem_min_allocation;
    return breaks(Rule::alloc_columns, n, std::clamp<std::int64_t>(up, tmem_min_allocation, most));
  }
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

/// The same of an instruction that uses some of the columns: a load, out of whose registers the others are never read.
/// One that begins outside the allocation is wrong whatever it uses.
constexpr Verdict tmem_range(isa::ColumnRange columns, isa::ColumnRange used, std::int64_t allocated) {
  if (tmem_range(columns.first, 1, allocated).broken()) used = columns;
  if (used.count > 0)
    if (const Verdict v = tmem_range(used.first, used.count, allocated); v.broken()) return v;
  const Verdict v = tmem_range(columns.first, columns.count, allocated);
  return v.broken() ? breaks(Rule::tmem_range_unused, v.given, allocated) : legal;
}

/// The columns of D and of an operand that the same MMA reads, on the same lanes. The verdict carries the first common
/// column.
constexpr Verdict mma_overlap(isa::ColumnRange d, isa::ColumnRange read) {
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

struct AllocStep {
  isa::AllocState next;
  Verdict verdict;
};

/// One event on the state, which the verifier joins over paths and the simulator follows along one; `columns` is the
/// operand of alloc and dealloc.
constexpr AllocStep step(isa::AllocState s, isa::AllocEvent e, std::int64_t columns = 0) {
  using isa::AllocEvent;
  switch (e) {
    case AllocEvent::alloc:
      if (s.relinquished) return {s, breaks(Rule::alloc_relinquished, columns)};
      // Alone, more columns than those are an exclusive allocation of sm_107: alloc_columns judges it.
      if (s.live > 0 && s.live + columns > isa::tmem_columns)
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
