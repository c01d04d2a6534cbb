#include "ptx/flow/liveness.hpp"

#include <algorithm>

#include "ptx/isa/types.hpp"

namespace kiln::flow {

Liveness::Liveness(const ir::Code& code, const Cfg& cfg, const Definitions& definitions)
    : code_(code), cfg_(cfg), definitions_(definitions), words_(code.operations.size()) {
  behind_.assign(cfg.blocks.size(), Set(code.registers.size()));
  settle();
  for (BlockId b = 0; b < cfg.blocks.size(); ++b) count(cfg.blocks[b], behind_[b]);
}

// Backwards, until nothing more becomes live.
void Liveness::settle() {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto b = cfg_.reverse_post_order.rbegin(); b != cfg_.reverse_post_order.rend(); ++b) {
      const BasicBlock& block = cfg_.blocks[*b];
      Set live = behind_[*b];
      for (std::uint32_t i = block.last; i > block.first; --i) step(i - 1, live);
      for (const std::uint32_t e : block.in) {
        Set& before = behind_[cfg_.edges[e].from];
        for (std::size_t r = 0; r < live.size(); ++r)
          if (live[r] && !before[r]) changed = before[r] = true;
      }
    }
  }
}

void Liveness::step(std::uint32_t operation, Set& live) const {
  if (!code_.operations[operation].guard)
    for (const std::uint32_t r : definitions_.written(operation)) live[r] = false;
  for (const std::uint32_t r : definitions_.read(operation)) live[r] = true;
}

void Liveness::count(const BasicBlock& block, Set live) {
  for (std::uint32_t i = block.last; i > block.first; --i) {
    for (const std::uint32_t r : definitions_.written(i - 1)) live[r] = true;
    words_[i - 1] = words(live);
    step(i - 1, live);
    words_[i - 1] = std::max(words_[i - 1], words(live));
  }
}

std::uint32_t Liveness::words(const Set& live) const {
  std::uint32_t out = 0;
  for (std::size_t r = 0; r < live.size(); ++r)
    if (live[r] && code_.registers[r].type != isa::ScalarType::pred)
      out += std::uint32_t(std::max(1, isa::bits(code_.registers[r].type) / 32));
  return out;
}

}  // namespace kiln::flow
