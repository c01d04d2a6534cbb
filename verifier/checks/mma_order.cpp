// tcgen05.mma and the tcgen05.ld that read what it wrote: is there anything that could make one wait for the other?
#include <algorithm>

#include "ptx/isa/tmem.hpp"
#include "ptx/rules/tcgen05_order.hpp"
#include "verifier/barrier_object.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/finding.hpp"
#include "verifier/footprint.hpp"

namespace kiln::verifier {
namespace {

using flow::BlockId;
using isa::Opcode;
using rules::MmaEvent;
using rules::MmaState;

// What may tell a thread that an MMA is done: a wait of its own, or anything by which another thread may pass it on.
bool may_inform(const ir::Operation& op) {
  const bool polls = (op.opcode == Opcode::ld || op.opcode == Opcode::atom) &&
                     op.modifiers.semantics != isa::Semantics::none && op.modifiers.semantics != isa::Semantics::weak;
  return waits(op) || isa::unit(op.opcode) == isa::Unit::barrier || polls || op.opcode == Opcode::atom ||
         op.opcode == Opcode::bar_warp_sync || isa::unit(op.opcode) == isa::Unit::unknown;
}

// One MMA whose D is read later.
class MmaOrder {
 public:
  MmaOrder(const Facts& facts, std::uint32_t mma)
      : facts_(facts), cfg_(facts.cfg), mma_(mma), warps_(facts.uniformity.warps_at(mma)), after_(reached(mma)) {
    d_ = footprints(facts, op(mma))[0];
    committed_ = any_after([&](std::uint32_t i) {
      return op(i).opcode == Opcode::tcgen05_commit && (facts.uniformity.warps_at(i) & warps_) != 0;
    });
  }

  void check() const {
    for (std::uint32_t i = 0; i < facts_.code.operations.size(); ++i) {
      if (!isa::is_tensor_load(op(i).opcode) || !facts_.is_formed(op(i)) || !is_after(i)) continue;
      const std::vector<Footprint> read = footprints(facts_, op(i));
      if (read.empty() || !surely_overlap(facts_, d_, read[0], false)) continue;
      if (!committed_) return report(i, MmaState::issued, "what no tcgen05.commit tracks");
      if (surely_follows(i) && !informed_before(i)) return report(i, MmaState::committed, "an MMA still in flight");
    }
  }

 private:
  const ir::Operation& op(std::uint32_t i) const { return facts_.code.operations[i]; }

  // Blocks that some warp which issues the MMA reaches from it.
  std::vector<bool> reached(std::uint32_t from) const {
    return cfg_.reached_from(cfg_.block_of(from), [&](std::uint32_t e) {
      for (int w = 0; w < flow::max_warps; ++w)
        if (warps_ >> w & 1 && facts_.uniformity.may_take(cfg_.edges[e], w)) return true;
      return false;
    });
  }

  bool is_after(std::uint32_t i) const {
    const BlockId b = cfg_.block_of(i);
    return after_[b] || (b == cfg_.block_of(mma_) && i > mma_);
  }

  template <class Predicate>
  bool any_after(Predicate holds) const {
    for (std::uint32_t i = 0; i < facts_.code.operations.size(); ++i)
      if (is_after(i) && holds(i)) return true;
    return false;
  }

  // The issuing warps execute the load whenever they have executed the MMA.
  bool surely_follows(std::uint32_t load) const {
    const BlockId home = cfg_.block_of(mma_), b = cfg_.block_of(load);
    if (op(load).guard || (warps_ & ~facts_.uniformity.warps_at(load)) != 0) return false;
    return b == home ? load > mma_ : cfg_.post_dominates(b, home);
  }

  // Something on a way from the MMA to the load may inform the thread.
  bool informed_before(std::uint32_t load) const {
    const BlockId home = cfg_.block_of(mma_), last = cfg_.block_of(load);
    if (home == last) {
      for (std::uint32_t i = mma_ + 1; i < load; ++i)
        if (may_inform(op(i))) return true;
      return false;
    }
    return any_after([&](std::uint32_t i) {
      const BlockId b = cfg_.block_of(i);
      if (!may_inform(op(i))) return false;
      return b == last ? i < load : b == home ? i > mma_ : cfg_.reached_from(b)[last];
    });
  }

  void report(std::uint32_t load, MmaState state, const std::string& got) const {
    const rules::Verdict v = rules::step(state, MmaEvent::read).verdict;
    if (!v.broken()) return;
    diag::Diagnostic& d =
        broken(facts_.sink, v, {facts_.code, op(load), footprints(facts_, op(load))[0].address->operand, false}, got);
    d.notes.insert(d.notes.begin(), {"written here", facts_.code.where(op(mma_))});
  }

  const Facts& facts_;
  const flow::Cfg& cfg_;
  std::uint32_t mma_, warps_;
  std::vector<bool> after_;
  Footprint d_;
  bool committed_ = false;
};

}  // namespace

void check_mma_order(const Facts& facts) {
  const auto& operations = facts.code.operations;
  const auto is_call = [](const ir::Operation& op) { return op.opcode == Opcode::call; };
  if (!facts.function.entry || std::any_of(operations.begin(), operations.end(), is_call)) return;
  const auto is_load = [](const ir::Operation& op) { return isa::is_tensor_load(op.opcode); };
  if (std::none_of(operations.begin(), operations.end(), is_load)) return;
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    if (!facts.is_formed(operations[i])) continue;
    const auto parts = footprints(facts, operations[i]);
    if (!parts.empty() && parts[0].role == Footprint::Role::d) MmaOrder(facts, i).check();
  }
}

}  // namespace kiln::verifier
