// Forward analyses over blocks: what holds on entry to each block, from what holds at the function's head.
#pragma once

#include <deque>
#include <vector>

#include "ptx/flow/cfg.hpp"

namespace kiln::flow {

/// Solves a forward analysis. `in` holds one state a block; the caller has set that of block 0, and the others to "not
/// reached". `transfer(block, state)` is the state after the block, `join_into(into, from)` joins and tells whether
/// `into` changed, `may_take(index in Cfg::edges)` whether an edge counts.
template <class State, class Transfer, class Join, class MayTake>
void propagate(const Cfg& cfg, std::vector<State>& in, Transfer transfer, Join join_into, MayTake may_take) {
  std::deque<BlockId> work{0};
  while (!work.empty()) {
    const BlockId b = work.front();
    work.pop_front();
    const State out = transfer(b, in[b]);
    for (std::uint32_t e : cfg.blocks[b].out)
      if (may_take(e) && join_into(in[cfg.edges[e].to], out)) work.push_back(cfg.edges[e].to);
  }
}

/// The same over every edge.
template <class State, class Transfer, class Join>
void propagate(const Cfg& cfg, std::vector<State>& in, Transfer transfer, Join join_into) {
  propagate(cfg, in, transfer, join_into, [](std::uint32_t) { return true; });
}

}  // namespace kiln::flow
