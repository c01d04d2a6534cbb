// Tensor-memory allocation: column counts, and the order of alloc, relinquish and dealloc on the paths of each warp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ptx/isa/tmem.hpp"
#include "verifier/facts.hpp"

namespace kiln::verifier {

/// One instruction that changes what the CTA holds of tensor memory.
struct AllocSite {
  std::uint32_t operation = 0;
  isa::AllocEvent event = isa::AllocEvent::alloc;
  std::optional<std::int64_t> columns{};  // of alloc and dealloc, when constant
  std::uint32_t warps = 0;                // that may execute it
};

/// The sites of a function in program order; instructions with the wrong operands are left out.
std::vector<AllocSite> alloc_sites(const Facts&);

/// The function calls one that allocates or frees tensor memory, so that its own sites are not the whole story.
bool calls_allocator(const Facts&);

}  // namespace kiln::verifier
