// Which threads execute an instruction: whole warps together, or one thread.
#include <algorithm>
#include <bit>

#include "ptx/flow/loaded.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/tcgen05_order.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using flow::BlockId;
using flow::Who;
using isa::Opcode;

// An instruction that all threads of a warp must execute together.
bool is_aligned(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::tcgen05_alloc:
    case Opcode::tcgen05_dealloc:
    case Opcode::tcgen05_relinquish_alloc_permit:
    case Opcode::tcgen05_ld:
    case Opcode::tcgen05_ld_red:
    case Opcode::tcgen05_st:
    case Opcode::tcgen05_wait_ld:
    case Opcode::tcgen05_wait_st:
    case Opcode::bar_sync:
    case Opcode::bar_arrive:
    case Opcode::bar_red:
    case Opcode::bar_cta_sync:
    case Opcode::bar_cta_arrive:
    case Opcode::bar_cta_red: return true;
    default: return op.modifiers.aligned;
  }
}

std::uint32_t lanes_of(const flow::ThreadSet& threads, int warp) {
  constexpr int lanes = isa::threads_per_warp;
  return std::uint32_t((threads >> std::size_t(warp * lanes) & flow::ThreadSet(0xFFFFFFFFu)).to_ulong());
}

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

// Checks that .aligned operations do not hang on words that the threads of a warp have loaded from addresses of their
// own: once for each such condition.
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

class Issuers {
 public:
  explicit Issuers(const Facts& facts) : facts_(facts), who_(facts.uniformity) {}

  void check() {
    std::vector<std::uint32_t> conditional;
    for (std::uint32_t i = 0; i < facts_.code.operations.size(); ++i) {
      const ir::Operation& op = facts_.code.operations[i];
      if (!facts_.is_formed(op)) continue;
      // What whole warps execute by all that is known may still hang on a condition that is not.
      if (is_aligned(op) && !check_aligned(i) && !who_.is_exact(i)) conditional.push_back(i);
      const auto mma = issued_by_many_ ? std::nullopt : ops::as<ops::Mma>(op);
      if (mma) issued_by_many_ = check_mma(i, *mma);
    }
    if (!conditional.empty()) check_divergence(facts_, conditional);
  }

 private:
  bool is_single(std::uint32_t i, const Entrance& e) const {
    return e.one_per_warp || who_.who(i) == Who::one_thread || who_.who(i) == Who::one_per_warp;
  }
  bool is_exact(std::uint32_t i, const Entrance& e) const { return e.is_exact && who_.is_exact(i); }

  // The lanes of a warp of which only a part gets here. Where the threads are not known exactly, every warp must come
  // in part.
  std::uint32_t stray_lanes(std::uint32_t operation, const Entrance& e) const {
    const flow::ThreadSet here = who_.threads_at(operation) & e.threads;
    std::uint32_t stray = 0;
    for (int w = 0; w < flow::max_warps; ++w) {
      const std::uint32_t lanes = lanes_of(here, w);
      if (lanes == 0) continue;
      if (lanes != lanes_of(e.cta, w))
        stray = stray ? stray : lanes;
      else if (!is_exact(operation, e))
        return 0;
    }
    return stray;
  }

  bool check_aligned(std::uint32_t operation) const {
    return std::any_of(facts_.entrances.begin(), facts_.entrances.end(),
                       [&](const Entrance& e) { return check_aligned(operation, e); });
  }
  bool check_aligned(std::uint32_t operation, const Entrance& e) const {
    std::uint32_t lanes = stray_lanes(operation, e);
    if (!lanes && is_single(operation, e) && e.cta.count() > 1) lanes = 1;
    return lanes &&
           report(operation, rules::warp_aligned(lanes), e,
                  is_single(operation, e) ? "one thread" : std::to_string(std::popcount(lanes)) + " threads of a warp");
  }

  // Without accumulation the MMAs of all threads write the same. Once for each function is enough.
  bool check_mma(std::uint32_t operation, const ops::Mma& mma) const {
    if (mma.enable_input_d && never_accumulates(*mma.enable_input_d)) return false;
    return std::any_of(facts_.entrances.begin(), facts_.entrances.end(), [&](const Entrance& e) {
      if (is_single(operation, e) || !is_exact(operation, e)) return false;
      int most = 0;
      const flow::ThreadSet here = who_.threads_at(operation) & e.threads;
      for (int w = 0; w < flow::max_warps; ++w) most = std::max(most, std::popcount(lanes_of(here, w)));
      return report(operation, rules::mma_issuer(most), e,
                    std::to_string(most) + " threads of a warp that issue the same MMA");
    });
  }

  bool report(std::uint32_t operation, const rules::Verdict& v, const Entrance& e, std::string got) const {
    if (!v.broken()) return false;
    diag::Diagnostic& d =
        broken(facts_.sink, v, Subject{facts_.code, facts_.code.operations[operation]}, std::move(got));
    if (e.call.source) d.notes.push_back({"the threads that come here are those of this call", e.call});
    return true;
  }

  bool never_accumulates(const ir::Argument& a) const {
    if (a.kind == ir::Argument::Kind::reg && facts_.definitions.writers(a.id).empty()) return true;
    return facts_.known.constant(a, 1) == 0;
  }

  const Facts& facts_;
  const flow::Uniformity& who_;
  bool issued_by_many_ = false;
};

}  // namespace

void check_issuers(const Facts& facts) { Issuers(facts).check(); }

}  // namespace kiln::verifier
