#include "sim/core/tensor_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ptx/rules/tcgen05_alloc.hpp"
#include "sim/core/fault.hpp"

namespace kiln::sim {
namespace {
constexpr std::uint32_t poison_cell = 0xFFFFFFFFu;
}

TensorMemory::TensorMemory() { reset(); }

void TensorMemory::reset() {
  forgive();
  constexpr auto cells = std::size_t(isa::tmem_lanes) * isa::tmem_columns;
  cells_.assign(cells, poison_cell);
  written_.assign(cells, 0);
  owner_.fill(-1);
  live_.clear();
  state_ = {};
  exclusive_ = false;
  has_six_bit_ = has_poison_ = false;
}

std::optional<std::uint32_t> TensorMemory::allocate(std::int64_t columns, bool exclusive) {
  if (exclusive && columns > isa::tmem_columns) unmodelled("columns of tensor memory from 512 on");
  require(rules::alloc_columns(columns, exclusive));
  if (exclusive && unallocated() != isa::tmem_columns) return std::nullopt;
  const rules::AllocStep next = rules::step(state_, isa::AllocEvent::alloc, columns);
  if (next.verdict.broken() && next.verdict.rule == rules::Rule::alloc_budget) return std::nullopt;
  require(next.verdict);
  // Blocks start at a multiple of their size, which first fit keeps by itself while sizes do not grow.
  for (std::int64_t first = 0; first + columns <= isa::tmem_columns; first += columns) {
    const auto begin = owner_.begin() + first;
    if (std::any_of(begin, begin + columns, [](std::int16_t o) { return o >= 0; })) continue;
    if (sm_ && std::any_of(sm_->taken.begin() + first, sm_->taken.begin() + first + columns, std::identity{})) continue;
    std::fill(begin, begin + columns, std::int16_t(first));
    if (sm_ && exclusive) sm_->taken.fill(true);
    if (sm_) std::fill_n(sm_->taken.begin() + first, columns, true);
    exclusive_ = exclusive;
    live_.emplace_back(std::uint32_t(first), columns);
    state_ = next.next;
    return std::uint32_t(first);
  }
  return std::nullopt;
}

void TensorMemory::release(std::uint32_t column, std::int64_t columns) {
  const auto found = std::find(live_.begin(), live_.end(), std::pair{column, columns});
  if (found == live_.end()) {
    std::string held;
    for (const auto& [at, n] : live_) held += fmt::format("{}{} at column {}", held.empty() ? "" : ", ", n, at);
    fault(rules::Rule::dealloc_size,
          fmt::format("{} columns at column {}, live: {}", columns, column, held.empty() ? "none" : held));
  }
  const rules::AllocStep next = rules::step(state_, isa::AllocEvent::dealloc, columns);
  require(next.verdict);
  state_ = next.next;
  live_.erase(found);
  if (sm_ && exclusive_) sm_->taken.fill(false);
  if (sm_) std::fill_n(sm_->taken.begin() + column, columns, false);
  exclusive_ = false;
  std::fill_n(owner_.begin() + std::ptrdiff_t(column), columns, -1);
  for (int lane = 0; lane < isa::tmem_lanes; ++lane) {
    std::fill_n(cell(lane, int(column)), columns, poison_cell);
    std::fill_n(written(lane, int(column)), columns, std::uint8_t{0});
  }
}

void TensorMemory::relinquish() {
  const rules::AllocStep next = rules::step(state_, isa::AllocEvent::relinquish);
  require(next.verdict);
  state_ = next.next;
}

rules::Verdict TensorMemory::leave() const { return rules::step(state_, isa::AllocEvent::exit).verdict; }

void TensorMemory::mark(int lane, int column, int n, CellState state) {
  std::memset(written(lane, column), state, std::size_t(n));
  has_six_bit_ |= state == six_bit_containers;
  has_poison_ |= state == poison;
}

void TensorMemory::require_known(int lane, int column, int n, const char* what) const {
  if (has_six_bit_ && std::memchr(written_.data() + index(lane, column), six_bit_containers, std::size_t(n)))
    unmodelled(std::string(what) + " out of cells that hold decompressed 6-bit elements");
}

void TensorMemory::require_six_bit(int lane, int column, int n) const {
  if (std::memchr(written_.data() + index(lane, column), known, std::size_t(n)))
    unmodelled("6-bit elements in tensor memory that tcgen05.cp has not decompressed");
}

void TensorMemory::check_columns(int first, int n, const char* what) const {
  require(rules::tmem_range(first, n, isa::tmem_columns), "{} in columns {} to {} of {}", what, first, first + n - 1,
          isa::tmem_columns);
  if (const int held = allocated_from(first, n); held < n)
    fault(rules::Rule::tmem_range,
          fmt::format("{} in columns {} to {}, of which {} is not allocated", what, first, first + n - 1, first + held));
}

int TensorMemory::allocated_from(int first, int n) const {
  int c = first;
  while (c < std::min(first + n, isa::tmem_columns) && owner_[std::size_t(c)] >= 0) ++c;
  return c - first;
}

}  // namespace kiln::sim
