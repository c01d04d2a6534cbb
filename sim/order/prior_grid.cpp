// Programmatic dependent launch: the grid before is one more agent, which has touched global memory and is over only
// for those who know of a griddepcontrol.wait. That it let its dependents launch hands over nothing. PTX ISA
// "griddepcontrol".
#include <algorithm>

#include "sim/core/machine.hpp"
#include "sim/order/detector.hpp"

namespace kiln::sim {
namespace {

// What the grid before did has no instruction here, and every record has one.
const ir::Operation& some_operation() {
  static const ir::Operation operation = [] {
    ir::Operation op;
    op.opcode = isa::Opcode::griddepcontrol;
    return op;
  }();
  return operation;
}

constexpr Stamp end_of_prior_grid{0, 1};

}  // namespace

// Launches run one after the other, but for those that do not wait.
void RaceDetector::begin_launch(const Grid& grid) {
  const std::optional<launch::PriorGrid>& pdl = grid.launch.pdl;
  prior_.clear();
  prior_access_ = 0;
  if (pdl) {
    prior_ = touched();
    const auto add = [&](const std::vector<std::string>& buffers, bool writes) {
      for (const std::string& name : buffers) {
        const std::uint64_t address = grid.memory.address(name);
        prior_.push_back({address, grid.memory.region(address)->bytes, writes});
      }
    };
    add(pdl->writes, true);
    add(pdl->reads, false);
    // Reads last: a write would take their place.
    std::stable_sort(prior_.begin(), prior_.end(),
                     [](const PriorRange& a, const PriorRange& b) { return a.writes > b.writes; });
    Access x;
    x.operation = &some_operation();
    x.cluster = prior_cluster;
    x.component = end_of_prior_grid.component;
    x.epoch = end_of_prior_grid.epoch;
    accesses_.push_back(x);
    prior_access_ = AccessId(accesses_.size() - 1);
  }
  pages_.clear();
  page_lists_->clear();
  flags_.clear();
  last_shadow_ = nullptr;
}

// What the launch that has ended touched, as its pages have it.
std::vector<RaceDetector::PriorRange> RaceDetector::touched() const {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, page] : pages_) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  std::vector<PriorRange> writes, reads;
  const auto add = [](std::vector<PriorRange>& to, std::uint64_t at, bool is_write) {
    if (to.empty() || to.back().address + to.back().bytes != at) to.push_back({at, 0, is_write});
    ++to.back().bytes;
  };
  for (const std::uint64_t number : numbers) {
    const Shadow& page = *pages_.at(number);
    for (std::size_t cell = 0; cell < page.size(); ++cell) {
      std::uint32_t written = 0, read = 0;
      page.each(cell, Shadow::mask(0, Shadow::granule), [&](const TouchLists::Entry& e) {
        if (accesses_[e.touch.access].cluster == prior_cluster) return;
        (e.is_write ? written : read) |= e.touch.bytes;
      });
      const std::uint64_t base = number * page_bytes + cell * Shadow::granule;
      for (std::uint64_t k = 0; k < Shadow::granule; ++k) {
        if (written >> k & 1) add(writes, base + k, true);
        if (read >> k & 1) add(reads, base + k, false);
      }
    }
  }
  writes.insert(writes.end(), reads.begin(), reads.end());
  return writes;
}

// A page that nobody of this launch has touched yet.
void RaceDetector::remember_prior_grid(Shadow& page, std::uint64_t number) const {
  const std::uint64_t first = number * page_bytes, last = first + page_bytes;
  for (const PriorRange& r : prior_) {
    const std::uint64_t end = std::min(last, r.address + r.bytes);
    for (std::uint64_t at = std::max(first, r.address); at < end;) {
      const std::uint64_t base = at / Shadow::granule * Shadow::granule, next = std::min(end, base + Shadow::granule);
      const Touch t{prior_access_, 1, Shadow::mask(at - base, next - base)};
      const std::size_t cell = std::size_t(base - first) / Shadow::granule;
      if (r.writes)
        page.write(cell, t);
      else
        page.read(cell, t, [](const Touch&) { return false; });
      at = next;
    }
  }
}

void RaceDetector::wait_for_prior_grid(const Agent& a) {
  if (!prior_access_) return;
  warp(a).knowledge.change(a.lanes, [](Mask, Knowledge& k) { k.seen.foreign[prior_cluster].raise(end_of_prior_grid); });
}

}  // namespace kiln::sim
