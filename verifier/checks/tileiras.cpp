#include "verifier/checks/checks.hpp"

#include <algorithm>
#include <vector>

#include "ptx/isa/collector.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/rules/tileiras.hpp"
#include "verifier/checks/allocation.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using flow::Origin;
using isa::Opcode;
using isa::AllocEvent;

class Tileiras {
 public:
  explicit Tileiras(const Facts& facts) : facts_(facts), sites_(alloc_sites(facts)) {}

  void check() {
    check_target();
    for (std::uint32_t i = 0; i < facts_.code.operations.size(); ++i) {
      const ir::Operation& op = facts_.code.operations[i];
      check_escape(op);
      const auto mma = ops::as<ops::Mma>(op);
      if (!mma || !facts_.is_formed(op)) continue;
      check_scope(i);
      check_collector(op, *mma);
      check_metadata(op, *mma);
    }
  }

 private:
  void check_target() {
    if (!facts_.target || !isa::has_tcgen05(*facts_.target)) return;
    const auto& operations = facts_.code.operations;
    const auto first = std::find_if(operations.begin(), operations.end(),
                                    [](const ir::Operation& op) { return isa::unit(op.opcode) == isa::Unit::tcgen05; });
    if (first != operations.end())
      judge(facts_.sink, rules::tileiras_target(*facts_.target), {facts_.code, *first},
            ".target " + isa::spelling(*facts_.target));
  }

  // One warp allocates while the others branch around it. So the place that counts is where the paths meet again after
  // the allocation, and where they part before the deallocation.
  bool comes_before(std::uint32_t alloc, flow::BlockId use) const {
    const flow::Cfg& cfg = facts_.cfg;
    const flow::BlockId made = cfg.block_of(alloc), met = cfg.post_dominator(made);
    return cfg.dominates(made, use) || (met != flow::no_block && cfg.dominates(met, use));
  }
  bool comes_behind(std::uint32_t dealloc, flow::BlockId use) const {
    const flow::Cfg& cfg = facts_.cfg;
    const flow::BlockId freed = cfg.block_of(dealloc), parted = cfg.dominator(freed);
    return cfg.post_dominates(freed, use) || (parted != flow::no_block && cfg.post_dominates(parted, use));
  }

  void check_scope(std::uint32_t use) {
    const flow::BlockId b = facts_.cfg.block_of(use);
    if (!facts_.cfg.reachable(b) || !facts_.function.entry) return;
    const bool before = std::any_of(sites_.begin(), sites_.end(), [&](const AllocSite& s) {
      return s.event == AllocEvent::alloc && comes_before(s.operation, b);
    });
    const bool behind = std::any_of(sites_.begin(), sites_.end(), [&](const AllocSite& s) {
      return s.event == AllocEvent::dealloc && comes_behind(s.operation, b);
    });
    judge(facts_.sink, rules::tileiras_alloc_scope(before && behind), {facts_.code, facts_.code.operations[use]},
          before ? "no tcgen05.dealloc after it on every path" : "no tcgen05.alloc before it on every path");
  }

  bool is_allocation(const Origin& o) const {
    if (!o.is(Origin::Base::slot)) return false;
    const flow::Slot slot = facts_.origins.slots[o.id];
    return std::any_of(sites_.begin(), sites_.end(), [&](const AllocSite& s) {
      if (s.event != AllocEvent::alloc) return false;
      const Origin to = facts_.origins.of(ops::roles<ops::TmemAllocation>(facts_.code.operations[s.operation]).slot);
      return to.is(Origin::Base::symbol) && to.exact() && flow::Slot{to.id, to.offset()} == slot;
    });
  }

  // Stores to global memory, and to the parameters of a call.
  void check_escape(const ir::Operation& op) {
    const isa::Space space = op.modifiers.space();
    if (op.opcode != Opcode::st || (space != isa::Space::global && space != isa::Space::param)) return;
    const auto store = ops::as<ops::MemoryAccess>(op);
    if (!store || store->cache_policy) return;
    const ir::Argument& value = store->value;
    judge(facts_.sink, rules::tileiras_alloc_escape(is_allocation(facts_.origins.of(value))),
          {facts_.code, op, value.operand}, "a store to ." + std::string(isa::spelling(space)));
  }

  void check_collector(const ir::Operation& op, const ops::Mma& mma) {
    const bool discards = isa::collector_use(mma.form.collector) == isa::CollectorUse::discard;
    judge(facts_.sink, rules::tileiras_scaled_collector(mma.form, discards), {facts_.code, op},
          "." + std::string(isa::spelling(mma.form.collector)));
  }

  // Known only where both addresses come from allocations.
  void check_metadata(const ir::Operation& op, const ops::Mma& mma) {
    if (!mma.metadata || !mma.form.a_in_tmem) return;
    const Origin values = facts_.origins.of(mma.a), metadata = facts_.origins.of(*mma.metadata);
    if (!is_allocation(values) || !is_allocation(metadata)) return;
    judge(facts_.sink, rules::tileiras_metadata(values.id == metadata.id), {facts_.code, op, mma.metadata->operand},
          "another allocation than A's");
  }

  const Facts& facts_;
  std::vector<AllocSite> sites_;
};

}  // namespace

void check_tileiras(const Facts& facts) { Tileiras(facts).check(); }

}  // namespace kiln::verifier
