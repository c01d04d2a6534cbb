// The control-flow graph of a decoded function: basic blocks, edges with the condition under which they are taken,
// dominators and post-dominators.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ptx/ir/code.hpp"

namespace kiln::flow {

using BlockId = std::uint32_t;
inline constexpr BlockId no_block = ~BlockId{0};

/// A predicate register and the value that it must have.
struct Condition {
  ir::RegisterId predicate = 0;
  bool value = true;
  bool operator==(const Condition&) const = default;
};

/// A way from one block to another; without a condition it may always be taken.
struct Edge {
  BlockId from = 0;
  BlockId to = 0;
  std::optional<Condition> condition{};
};

/// A straight run of operations, [first, last) in Code::operations.
struct BasicBlock {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::vector<std::uint32_t> out{};  // indices into Cfg::edges
  std::vector<std::uint32_t> in{};
};

/// The graph of one function. Block 0 is the entry; the last block is empty and stands for the end of the function:
/// ret, exit and the last operation lead there, trap does not.
class Cfg {
 public:
  explicit Cfg(const ir::Code&);

  std::vector<BasicBlock> blocks{};
  std::vector<Edge> edges{};
  std::vector<BlockId> reverse_post_order{};  // of the blocks that the entry reaches

  BlockId end() const { return BlockId(blocks.size() - 1); }
  BlockId block_of(std::uint32_t operation) const { return block_of_[operation]; }
  bool reachable(BlockId b) const { return order_[b] != no_block; }
  /// Place in reverse_post_order; no_block for a block that the entry does not reach.
  BlockId order(BlockId b) const { return order_[b]; }

  /// The immediate dominator; no_block for the entry and for unreachable blocks.
  BlockId dominator(BlockId b) const { return dominator_[b]; }
  /// The immediate post-dominator; no_block for the end and for blocks that never reach it.
  BlockId post_dominator(BlockId b) const { return post_dominator_[b]; }
  /// Every path from the entry to `b` passes `a`; a block dominates itself.
  bool dominates(BlockId a, BlockId b) const;
  bool post_dominates(BlockId a, BlockId b) const;

  /// By block: a path of one edge or more leads there from `from`, along edges (indices) for which `may_take` holds.
  template <class Predicate>
  std::vector<bool> reached_from(BlockId from, Predicate may_take) const;
  std::vector<bool> reached_from(BlockId from) const {
    return reached_from(from, [](std::uint32_t) { return true; });
  }
  /// A path of one edge or more leads from the block back to it.
  bool repeats(BlockId b) const { return reached_from(b)[b]; }

 private:
  void split(const ir::Code&);
  void connect(const ir::Code&);
  void add_edge(BlockId from, BlockId to, std::optional<Condition> condition = {});

  std::vector<BlockId> block_of_, order_, dominator_, post_dominator_;
  std::vector<std::uint32_t> dominator_depth_, post_dominator_depth_;
};

template <class Predicate>
std::vector<bool> Cfg::reached_from(BlockId from, Predicate may_take) const {
  std::vector<bool> reached(blocks.size());
  std::vector<BlockId> work{from};
  while (!work.empty()) {
    const BlockId b = work.back();
    work.pop_back();
    for (std::uint32_t e : blocks[b].out) {
      const BlockId to = edges[e].to;
      if (reached[to] || !may_take(e)) continue;
      reached[to] = true;
      work.push_back(to);
    }
  }
  return reached;
}

}  // namespace kiln::flow
