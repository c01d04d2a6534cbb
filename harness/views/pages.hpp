// Self-contained HTML pages: a kernel's memory, and one tile's accumulation.
#pragma once

#include <string>
#include <vector>

#include "sim/views/memory_map.hpp"

namespace kiln::harness {

/// What a page says of itself.
struct PageFacts {
  std::string kernel{}, target{}, sizes{};
  std::string remark{};  // what became of the run, if it did not end
};

/// Tensor and shared memory of each CTA of a cluster, the MMAs that it issued, and the layouts of accumulators, scale
/// factors and sparsity metadata.
std::string map_page(const PageFacts&, const std::vector<sim::MemoryMap>&);

/// A tile of bf16 whose layout the reader chooses, and the MMAs along K one by one: bytes read, sums so far. Begins
/// with what `first` says, as far as the page has it.
std::string step_page(const sim::MmaUse& first);

}  // namespace kiln::harness
