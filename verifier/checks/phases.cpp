// What a phase of an mbarrier waits for, where one kernel shows all of it.
#include <algorithm>

#include "ptx/ops/operations.hpp"
#include "ptx/rules/mbarrier.hpp"
#include "verifier/barrier_object.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;

// An instruction on an mbarrier whose place is known exactly.
struct Use {
  std::uint32_t operation = 0;
  BarrierObject object{};
};

bool crosses_ctas(const ir::Operation& op) {
  return op.opcode == Opcode::mapa || op.opcode == Opcode::call || op.modifiers.multicast ||
         op.modifiers.cta_group == isa::CtaGroup::two || op.opcode == Opcode::barrier_cluster_arrive;
}

class Phases {
 public:
  explicit Phases(const Facts& facts) : facts_(facts), code_(facts.code) {}

  void check() {
    if (!facts_.function.entry || !gather()) return;
    std::vector<BarrierObject> objects;
    for (const Use& u : uses_)
      if (std::find(objects.begin(), objects.end(), u.object) == objects.end()) objects.push_back(u.object);
    for (const BarrierObject& o : objects) {
      check_bytes(o);
      check_parity(o);
    }
  }

 private:
  const ir::Operation& op(const Use& u) const { return code_.operations[u.operation]; }
  flow::BlockId block(const Use& u) const { return facts_.cfg.block_of(u.operation); }

  // False when some use is not followed, or may come from another CTA.
  bool gather() {
    for (std::uint32_t i = 0; i < code_.operations.size(); ++i) {
      const ir::Operation& o = code_.operations[i];
      if (crosses_ctas(o)) return false;
      const ir::Argument* at = barrier_operand(o);
      if (!at) continue;
      const auto object = facts_.is_formed(o) ? barrier_object(facts_, *at) : std::nullopt;
      if (!object || !object->offset.is_constant()) return false;
      uses_.push_back({i, *object});
    }
    return true;
  }

  template <class Predicate>
  std::vector<Use> uses_of(const BarrierObject& object, Predicate keep) const {
    std::vector<Use> out;
    for (const Use& u : uses_)
      if (u.object == object && keep(op(u))) out.push_back(u);
    return out;
  }

  // The bytes that an instruction adds to what a phase expects, or takes away; nothing when they are not known.
  std::optional<std::int64_t> bytes(const ir::Operation& o) const {
    if (expects_bytes(o)) return facts_.constant(ops::roles<ops::Mbarrier>(o).bytes, 32);
    const bool plain = o.opcode == Opcode::cp_async_bulk && !o.modifiers.ignore_oob;
    return plain ? facts_.constant(ops::roles<ops::BulkCopy>(o).bytes, 32) : std::nullopt;
  }

  bool together(const Use& a, const Use& b) const {
    return block(a) == block(b) && op(a).guard == op(b).guard && op(a).guard_negated == op(b).guard_negated;
  }

  // Everything that counts bytes stands in one block, so that it is executed equally often by the same threads.
  void check_bytes(const BarrierObject& object) const {
    const auto counting = uses_of(object, [](const ir::Operation& o) {
      return expects_bytes(o) || o.modifiers.completion == isa::Completion::mbarrier ||
             o.opcode == Opcode::mbarrier_complete_tx;
    });
    std::int64_t expected = 0, copied = 0;
    const Use* last = nullptr;
    for (const Use& u : counting) {
      const auto n = bytes(op(u));
      if (!n || !rules::mbarrier_tx(*n).ok() || !together(u, counting[0])) return;
      (expects_bytes(op(u)) ? expected : copied) += *n;
      if (expects_bytes(op(u))) last = &u;
    }
    if (!last || copied == 0) return;
    judge(facts_.sink, rules::mbarrier_bytes(expected, copied),
          {code_, op(*last), ops::roles<ops::Mbarrier>(op(*last)).bytes->operand, false});
  }

  // Arrivals that a thread executes once complete at most one phase of an mbarrier that counts them.
  std::optional<Use> only_arrival(const BarrierObject& object) const {
    const auto inits = uses_of(object, [](const ir::Operation& o) { return o.opcode == Opcode::mbarrier_init; });
    const auto arrivals = uses_of(object, arrives);
    if (inits.size() != 1 || arrivals.size() != 1) return std::nullopt;
    if (facts_.constant(ops::roles<ops::Mbarrier>(op(inits[0])).count, 32) != 1) return std::nullopt;
    if (facts_.uniformity.who(arrivals[0].operation) != flow::Who::one_thread) return std::nullopt;
    const flow::BlockId home = block(arrivals[0]);
    return facts_.cfg.reached_from(home)[home] ? std::nullopt : std::optional(arrivals[0]);
  }

  // Only waits after the arrival count; a wait for parity 1 before it may be meant to fall through.
  void check_parity(const BarrierObject& object) const {
    const auto arrival = only_arrival(object);
    if (!arrival) return;
    const std::uint32_t arriving = facts_.uniformity.warps_at(arrival->operation);
    for (const Use& u : uses_of(object, waits)) {
      const ops::Operand asked = ops::roles<ops::Mbarrier>(op(u)).parity;
      if (!asked) return;
      const bool after = block(u) == block(*arrival) ? u.operation > arrival->operation
                                                     : facts_.cfg.post_dominates(block(u), block(*arrival));
      const auto parity = facts_.constant(asked, 32);
      if (!parity || !after || (arriving & ~facts_.uniformity.warps_at(u.operation)) != 0) continue;
      if (judge(facts_.sink, rules::mbarrier_parity(*parity), {code_, op(u), asked->operand},
                "parity " + std::to_string(*parity) + " of " + name(facts_, object)))
        return;
    }
  }

  const Facts& facts_;
  const ir::Code& code_;
  std::vector<Use> uses_;
};

}  // namespace

void check_phases(const Facts& facts) { Phases(facts).check(); }

}  // namespace kiln::verifier
