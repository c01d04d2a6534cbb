#include "ptx/flow/cfg.hpp"

#include <algorithm>
#include <utility>

namespace kiln::flow {
namespace {

using isa::Opcode;
using Kind = ir::Argument::Kind;

// A call to a function that says it does not come back.
bool never_returns(const ir::Code& code, const ir::Operation& op) {
  if (op.opcode != Opcode::call) return false;
  for (const ir::Argument& a : op.arguments) {
    if (a.kind != Kind::function) continue;
    for (const ir::Item& item : code.module->items)
      if (const auto* f = std::get_if<ir::Function>(&item); f && f->name == a.operand->text && f->find("noreturn"))
        return true;
  }
  return false;
}

bool ends_block(const ir::Code& code, const ir::Operation& op) {
  return isa::ends_block(op.opcode) || never_returns(code, op);
}

using Graph = std::vector<std::vector<BlockId>>;

// Post order of what `root` reaches, without recursion: PTX may be one long chain of blocks.
std::vector<BlockId> post_order(const Graph& next, BlockId root) {
  std::vector<BlockId> out;
  std::vector<bool> seen(next.size());
  std::vector<std::pair<BlockId, std::size_t>> stack{{root, 0}};
  seen[root] = true;
  while (!stack.empty()) {
    auto& [b, i] = stack.back();
    if (i == next[b].size()) {
      out.push_back(b);
      stack.pop_back();
      continue;
    }
    const BlockId s = next[b][i++];
    if (!seen[s]) {
      seen[s] = true;
      stack.emplace_back(s, 0);
    }
  }
  return out;
}

struct Tree {
  std::vector<BlockId> parent;
  std::vector<std::uint32_t> depth;
};

// Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm".
Tree dominator_tree(const Graph& next, const Graph& previous, BlockId root) {
  const std::vector<BlockId> post = post_order(next, root);
  std::vector<std::uint32_t> number(next.size(), no_block);
  for (std::uint32_t i = 0; i < post.size(); ++i) number[post[i]] = i;
  std::vector<BlockId> parent(next.size(), no_block);
  parent[root] = root;
  const auto meet = [&](BlockId a, BlockId b) {
    while (a != b) {
      while (number[a] < number[b]) a = parent[a];
      while (number[b] < number[a]) b = parent[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = post.size() - 1; i-- > 0;) {
      BlockId best = no_block;
      for (BlockId p : previous[post[i]])
        if (parent[p] != no_block) best = best == no_block ? p : meet(p, best);
      changed |= std::exchange(parent[post[i]], best) != best;
    }
  }
  parent[root] = no_block;
  Tree tree{std::move(parent), std::vector<std::uint32_t>(next.size(), 0)};
  for (std::size_t i = post.size() - 1; i-- > 0;) tree.depth[post[i]] = tree.depth[tree.parent[post[i]]] + 1;
  return tree;
}

bool is_above(const std::vector<BlockId>& parent, const std::vector<std::uint32_t>& depth, BlockId a, BlockId b) {
  while (depth[b] > depth[a] && parent[b] != no_block) b = parent[b];
  return a == b;
}

}  // namespace

Cfg::Cfg(const ir::Code& code) {
  split(code);
  connect(code);
  Graph next(blocks.size()), previous(blocks.size());
  for (const Edge& e : edges) {
    next[e.from].push_back(e.to);
    previous[e.to].push_back(e.from);
  }
  reverse_post_order = post_order(next, 0);
  std::reverse(reverse_post_order.begin(), reverse_post_order.end());
  order_.assign(blocks.size(), no_block);
  for (BlockId i = 0; i < reverse_post_order.size(); ++i) order_[reverse_post_order[i]] = i;
  Tree forward = dominator_tree(next, previous, 0), backward = dominator_tree(previous, next, end());
  dominator_ = std::move(forward.parent);
  dominator_depth_ = std::move(forward.depth);
  post_dominator_ = std::move(backward.parent);
  post_dominator_depth_ = std::move(backward.depth);
}

bool Cfg::dominates(BlockId a, BlockId b) const {
  return a == b || (reachable(b) && is_above(dominator_, dominator_depth_, a, b));
}

bool Cfg::post_dominates(BlockId a, BlockId b) const { return is_above(post_dominator_, post_dominator_depth_, a, b); }

void Cfg::split(const ir::Code& code) {
  const auto n = std::uint32_t(code.operations.size());
  std::vector<bool> starts(n + 1);
  starts[0] = true;
  for (const auto& [position, name] : code.labels) starts[position] = true;
  for (std::uint32_t i = 0; i < n; ++i)
    if (ends_block(code, code.operations[i])) starts[i + 1] = true;
  block_of_.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (starts[i]) blocks.push_back({i, i, {}, {}});
    blocks.back().last = i + 1;
    block_of_[i] = BlockId(blocks.size() - 1);
  }
  blocks.push_back({n, n, {}, {}});
}

void Cfg::add_edge(BlockId from, BlockId to, std::optional<Condition> condition) {
  blocks[from].out.push_back(std::uint32_t(edges.size()));
  blocks[to].in.push_back(std::uint32_t(edges.size()));
  edges.push_back({from, to, condition});
}

void Cfg::connect(const ir::Code& code) {
  const auto at = [&](std::uint32_t position) { return position < block_of_.size() ? block_of_[position] : end(); };
  for (BlockId b = 0; b < end(); ++b) {
    const ir::Operation& op = code.operations[blocks[b].last - 1];
    if (!ends_block(code, op)) {
      add_edge(b, b + 1);
      continue;
    }
    std::optional<Condition> taken, passed;
    if (op.guard) taken = Condition{*op.guard, !op.guard_negated}, passed = Condition{*op.guard, op.guard_negated};
    if (op.opcode == Opcode::ret || op.opcode == Opcode::exit) add_edge(b, end(), taken);
    for (const ir::Argument& a : op.arguments) {
      if (a.kind == Kind::label) add_edge(b, at(a.id), taken);
      if (a.kind == Kind::table)
        for (std::uint32_t target : code.tables[a.id]) add_edge(b, at(target), taken);
    }
    if (op.guard) add_edge(b, b + 1, passed);
  }
}

}  // namespace kiln::flow
