#include "sim/core/mbarrier.hpp"

#include <utility>

#include "ptx/rules/mbarrier.hpp"
#include "ptx/rules/memory.hpp"
#include "sim/core/fault.hpp"

namespace kiln::sim {

Mbarrier& MbarrierTable::init(std::uint32_t address, std::int64_t count) {
  require(rules::memory_alignment(address, isa::mbarrier_bytes), "an mbarrier at shared address {:#x}", address);
  require(rules::mbarrier_count(count));
  require(rules::mbarrier_overwritten(!objects_.contains(address)),
          "mbarrier.init at shared address {:#x}, where one lives", address);
  Mbarrier b;
  b.expected = b.pending = std::uint32_t(count);
  return objects_[address] = std::move(b);
}

void MbarrierTable::invalidate(std::uint32_t address) {
  at(address);
  objects_.erase(address);
}

Mbarrier& MbarrierTable::at(std::uint32_t address) {
  const auto found = objects_.find(address);
  if (found == objects_.end()) fault(rules::Rule::mbarrier_uninitialised, fmt::format("shared address {:#x}", address));
  return found->second;
}

const Mbarrier* MbarrierTable::find(std::uint32_t address) const {
  const auto found = objects_.find(address);
  return found == objects_.end() ? nullptr : &found->second;
}

bool MbarrierTable::try_flip(Mbarrier& b) {
  if (b.pending != 0 || b.tx != 0) return false;
  ++b.phase;
  b.announced = b.issued = 0;
  b.pending = b.expected;
  return true;
}

bool MbarrierTable::arrive(std::uint32_t address, std::int64_t n, bool drop, bool no_complete) {
  Mbarrier& b = at(address);
  require(rules::mbarrier_count(n));
  require(rules::mbarrier_arrivals(b.pending, n, no_complete), "{} arrivals{}; phase {} waits for {}", n,
          no_complete ? " with .noComplete" : "", b.phase, b.pending);
  b.pending -= std::uint32_t(n);
  if (drop) b.expected -= std::uint32_t(n);
  return try_flip(b);
}

void MbarrierTable::expect(std::uint32_t address, std::int64_t bytes) {
  Mbarrier& b = at(address);
  require(rules::mbarrier_tx(bytes));
  b.tx += bytes;
  b.announced += bytes;
  if (b.tx > isa::mbarrier_max_tx) require(rules::mbarrier_tx(b.tx));
}

void MbarrierTable::issue(std::uint32_t address, std::int64_t bytes, std::uint32_t cta, std::uint32_t warp) {
  Mbarrier& b = at(address);
  if (b.announced == 0 || b.announcer.cta != cta || b.announcer.warp != warp) return;
  b.issued += bytes;
  if (b.pending == 0 && b.issued > b.announced) require(rules::mbarrier_bytes(b.announced, b.issued));
}

bool MbarrierTable::complete(std::uint32_t address, std::int64_t bytes) {
  Mbarrier& b = at(address);
  require(rules::mbarrier_tx(bytes));
  b.tx -= bytes;
  if (b.tx < -isa::mbarrier_max_tx) require(rules::mbarrier_tx(b.tx));
  return try_flip(b);
}

}  // namespace kiln::sim
