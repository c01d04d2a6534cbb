#include "ptx/flow/uniformity.hpp"

#include <algorithm>

namespace kiln::flow {
namespace {

using ir::Special;
using isa::Opcode;

ThreadSet warp_mask(int warp) {
  static const ThreadSet first(0xFFFFFFFFu);
  return first << std::size_t(warp * isa::threads_per_warp);
}

std::uint32_t warps_of(const ThreadSet& threads) {
  std::uint32_t mask = 0;
  for (int w = 0; w < max_warps; ++w)
    if ((threads & warp_mask(w)).any()) mask |= 1u << w;
  return mask;
}

bool at_most_one_per_warp(const ThreadSet& threads) {
  for (int w = 0; w < max_warps; ++w)
    if ((threads & warp_mask(w)).count() > 1) return false;
  return true;
}

bool differs_between_threads(Special s) {
  switch (s) {
    case Special::ntid_x:
    case Special::nwarpid: return false;
    case Special::clock:
    case Special::clock_hi:
    case Special::clock64:
    case Special::globaltimer: return true;
    default: return s < Special::ctaid_x || (s >= Special::lanemask_eq && s <= Special::lanemask_gt);
  }
}

}  // namespace

Uniformity::Uniformity(const ir::Code& code, const Cfg& cfg, const Definitions& definitions, const KnownBits& known)
    : code_(code), cfg_(cfg), definitions_(definitions), known_(known) {
  measure();
  for (int t = 0; t < threads_; ++t) all_.set(std::size_t(t));
  spread(cfg);
  find_diverging();
  find_inexact();
}

void Uniformity::measure() {
  const ir::Performance* required = code_.function->find("reqntid");
  const ir::Performance* most = required ? required : code_.function->find("maxntid");
  if (most && !most->values.empty()) {
    std::uint64_t extents[3] = {1, 1, 1}, volume = 1;
    for (std::size_t i = 0; i < 3 && i < most->values.size(); ++i) {
      extents[i] = std::uint64_t(std::clamp<std::int64_t>(most->values[i], 1, max_threads));
      volume *= extents[i];
    }
    threads_ = int(std::min<std::uint64_t>(volume, max_threads));
    extent_x_ = extents[0];
    extent_y_ = extents[1];
    is_bounded_ = true;
    // A smaller launch of a flat CTA numbers its threads the same; one of a two-dimensional CTA does not.
    shape_is_known_ = required || (extents[1] == 1 && extents[2] == 1);
    return;
  }
  const auto reads_other_index = [](const ir::Argument& a) {
    return a.kind == ir::Argument::Kind::special &&
           (Special(a.id) == Special::tid_y || Special(a.id) == Special::tid_z);
  };
  for (const ir::Operation& op : code_.operations)
    if (std::any_of(op.arguments.begin(), op.arguments.end(), reads_other_index)) shape_is_known_ = false;
}

void Uniformity::spread(const Cfg& cfg) {
  reach_.assign(cfg.blocks.size(), {});
  single_.assign(cfg.blocks.size(), false);
  reach_[0] = all_;
  for (bool changed = true; changed;) {
    changed = false;
    for (BlockId b : cfg.reverse_post_order)
      for (std::uint32_t e : cfg.blocks[b].out) {
        const Edge& edge = cfg.edges[e];
        ThreadSet arriving = reach_[b];
        if (edge.condition) arriving &= truth(edge.condition->predicate).may_be(edge.condition->value);
        const ThreadSet joined = reach_[edge.to] | arriving;
        if (joined == reach_[edge.to]) continue;
        reach_[edge.to] = joined;
        changed = true;
      }
  }
  for (BlockId b : cfg.reverse_post_order) {
    if (cfg.dominator(b) != no_block) single_[b] = single_[cfg.dominator(b)];
    if (cfg.blocks[b].in.size() != 1) continue;
    const auto& condition = cfg.edges[cfg.blocks[b].in[0]].condition;
    if (condition && truth(condition->predicate).one(condition->value)) single_[b] = true;
  }
}

// What is computed from parameters, constants and the CTA's place alone is the same for all threads. A wait for an
// mbarrier ends for all.
void Uniformity::find_diverging() {
  diverges_.assign(code_.registers.size(), false);
  const auto reads_thread = [&](const ir::Argument& a, const auto& self) -> bool {
    const auto parts = code_.components(a);
    if (a.kind == ir::Argument::Kind::special) return differs_between_threads(Special(a.id));
    return std::any_of(parts.begin(), parts.end(), [&](const ir::Argument& c) { return self(c, self); });
  };
  const auto is_source = [&](const ir::Operation& op) {
    const bool load = op.opcode == Opcode::ld && op.modifiers.space() != isa::Space::param &&
                      op.modifiers.space() != isa::Space::constant;
    const isa::Unit unit = isa::unit(op.opcode);
    return load || op.opcode == Opcode::atom || op.opcode == Opcode::ldmatrix || op.opcode == Opcode::call ||
           unit == isa::Unit::warp || unit == isa::Unit::matrix || unit == isa::Unit::tcgen05 ||
           unit == isa::Unit::unknown || std::any_of(op.arguments.begin(), op.arguments.end(), [&](const auto& a) {
             return reads_thread(a, reads_thread);
           });
  };
  std::vector<std::uint32_t> work;
  const auto mark = [&](std::uint32_t operation) {
    for (ir::RegisterId r : definitions_.written(operation)) {
      if (diverges_[r]) continue;
      diverges_[r] = true;
      const auto readers = definitions_.readers(r);
      work.insert(work.end(), readers.begin(), readers.end());
    }
  };
  for (std::uint32_t i = 0; i < code_.operations.size(); ++i)
    if (is_source(code_.operations[i])) mark(i);
  while (!work.empty()) {
    const std::uint32_t i = work.back();
    work.pop_back();
    const Opcode op = code_.operations[i].opcode;
    if (op != Opcode::mbarrier_try_wait && op != Opcode::mbarrier_test_wait) mark(i);
  }
}

bool Uniformity::is_followed(const Condition& c) const {
  const Truth& t = truth(c.predicate);
  return (t.may_be_true & t.may_be_false).none() || !diverges_[c.predicate];
}

// Control dependence: what lies between a branch and its post-dominator is executed by those whom the branch selects.
void Uniformity::find_inexact() {
  inexact_.assign(cfg_.blocks.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Edge& e : cfg_.edges) {
      if (!e.condition || (is_followed(*e.condition) && !inexact_[e.from])) continue;
      for (BlockId b = e.to; b != no_block && b != cfg_.post_dominator(e.from); b = cfg_.post_dominator(b)) {
        changed |= !inexact_[b];
        inexact_[b] = true;
      }
    }
  }
}

bool Uniformity::is_exact(std::uint32_t operation) const {
  const ir::Operation& op = code_.operations[operation];
  return !inexact_[cfg_.block_of(operation)] && (!op.guard || is_followed({*op.guard, true}));
}

ThreadSet Uniformity::threads_at(std::uint32_t operation) const {
  const ir::Operation& op = code_.operations[operation];
  ThreadSet threads = reach_[cfg_.block_of(operation)];
  if (op.guard) threads &= truth(*op.guard).may_be(!op.guard_negated);
  return threads;
}

std::uint32_t Uniformity::warps_at(std::uint32_t operation) const { return warps_of(threads_at(operation)); }

Who Uniformity::who(std::uint32_t operation) const {
  const ir::Operation& op = code_.operations[operation];
  const ThreadSet threads = threads_at(operation);
  if (threads.none()) return Who::nobody;
  const bool single = single_[cfg_.block_of(operation)] || at_most_one_per_warp(threads) ||
                      (op.guard && truth(*op.guard).one(!op.guard_negated));
  const bool one_warp = std::has_single_bit(warps_of(threads));
  if (single) return one_warp ? Who::one_thread : Who::one_per_warp;
  if (one_warp) return Who::one_warp;
  return threads == all_ ? Who::whole : Who::several;
}

bool Uniformity::may_take(const Edge& edge, int warp) const {
  return !edge.condition || (truth(edge.condition->predicate).may_be(edge.condition->value) & warp_mask(warp)).any();
}

bool Uniformity::may_execute(const ir::Operation& op, int warp) const {
  return !op.guard || (truth(*op.guard).may_be(!op.guard_negated) & warp_mask(warp)).any();
}

const Truth& Uniformity::truth(ir::RegisterId predicate) const {
  if (const auto found = truths_.find(predicate); found != truths_.end()) return found->second;
  truths_.emplace(predicate, unknown());  // what a predicate that depends on itself, or on too much, gets
  constexpr int deepest = 64;
  ++depth_;
  if (depth_ <= deepest) truths_[predicate] = decide(predicate);
  --depth_;
  return truths_[predicate];
}

}  // namespace kiln::flow
