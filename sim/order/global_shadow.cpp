#include "sim/order/global_shadow.hpp"

#include <algorithm>

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

}  // namespace

void GlobalShadow::start_launch(const Grid& grid, Records& records) {
  const std::optional<launch::PriorGrid>& pdl = grid.launch.pdl;
  prior_.clear();
  prior_access_ = 0;
  if (pdl) {
    prior_ = touched(records);
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
    prior_access_ = records.add(x);
  }
  pages_.clear();
  lists_->clear();
  last_ = nullptr;
}

// What the launch that has ended touched, as its pages have it.
std::vector<GlobalShadow::PriorRange> GlobalShadow::touched(const Records& records) const {
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
        if (records[e.touch.access].cluster == prior_cluster) return;
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

Shadow& GlobalShadow::page(std::uint64_t number) {
  if (number == last_number_ && last_) return *last_;
  auto& page = pages_[number];
  if (!page) {
    page = std::make_unique<Shadow>(lists_);
    page->start(page_bytes / Shadow::granule);
    remember_prior_grid(*page, number);
  }
  last_number_ = number;
  return *(last_ = page.get());
}

std::size_t GlobalShadow::memory() const {
  std::size_t bytes = lists_->memory();
  for (const auto& [number, page] : pages_) bytes += page->memory();
  return bytes;
}

// A page that this launch has not touched yet.
void GlobalShadow::remember_prior_grid(Shadow& page, std::uint64_t number) const {
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

}  // namespace kiln::sim
