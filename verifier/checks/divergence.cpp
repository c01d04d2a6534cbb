// Instructions for whole warps under a condition that each lane computes from its own words.
#include "ptx/flow/loaded.hpp"
#include "ptx/rules/execution.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using flow::BlockId;

// What a condition lets some lanes of a warp do without the others.
class Divergence {
 public:
  explicit Divergence(const Facts& facts)
      : facts_(facts), loaded_(facts.code, facts.definitions, facts.uniformity), split_(facts.cfg.blocks.size()) {}

  // The branch, or the guarded operation itself, that may split the warp before `operation`; null where none is known.
  const ir::Operation* behind(std::uint32_t operation) {
    if (!is_followed_) follow();
    const ir::Operation& op = facts_.code.operations[operation];
    if (op.guard && splits(op)) return &op;
    return split_[facts_.cfg.block_of(operation)];
  }

 private:
  // `bra.uni` says that all lanes go the same way.
  bool splits(const ir::Operation& op) {
    const flow::Who who = facts_.uniformity.who(facts_.code.index(op));
    return op.guard && !op.modifiers.uniform && who != flow::Who::one_thread && who != flow::Who::one_per_warp &&
           loaded_.lanes(*op.guard) == flow::Lanes::own;
  }

  // The lanes that a branch selects execute what lies between it and the place where its ways meet again. No way meets
  // one that only traps, so the lanes that are left count as the whole warp.
  void follow() {
    is_followed_ = true;
    for (bool changed = true; changed;) {
      changed = false;
      for (const BlockId b : facts_.cfg.reverse_post_order)
        if (const ir::Operation* branch = parting(b)) changed |= split_behind(b, *branch);
    }
  }

  // The branch at the end of a block if only a part of the warp may take one of its ways, or an earlier one for whose
  // sake only a part comes here.
  const ir::Operation* parting(BlockId b) {
    const flow::BasicBlock& block = facts_.cfg.blocks[b];
    if (block.out.size() < 2 || block.first == block.last) return nullptr;
    const ir::Operation& branch = facts_.code.operations[block.last - 1];
    return splits(branch) ? &branch : split_[b];
  }

  bool split_behind(BlockId b, const ir::Operation& branch) {
    const flow::Cfg& cfg = facts_.cfg;
    bool changed = false;
    for (const std::uint32_t e : cfg.blocks[b].out)
      for (BlockId in = cfg.edges[e].to; in != flow::no_block && in != cfg.post_dominator(b);
           in = cfg.post_dominator(in))
        if (!split_[in]) split_[in] = &branch, changed = true;
    return changed;
  }

  const Facts& facts_;
  flow::Loaded loaded_;
  std::vector<const ir::Operation*> split_;  // by block
  bool is_followed_ = false;
};

}  // namespace

void check_divergence(const Facts& facts, const std::vector<std::uint32_t>& aligned) {
  Divergence divergence(facts);
  const ir::Operation* last = nullptr;
  for (const std::uint32_t i : aligned) {
    const ir::Operation* branch = divergence.behind(i);
    if (!branch || branch == last) continue;
    last = branch;
    const ir::Operation& op = facts.code.operations[i];
    diag::Diagnostic& d = broken(facts.sink, rules::warp_divergence(true), Subject{facts.code, op},
                                 facts.code.registers[*branch->guard].name);
    if (branch != &op) d.notes.push_back({"here the threads of a warp may part", facts.code.where(*branch)});
  }
}

}  // namespace kiln::verifier
