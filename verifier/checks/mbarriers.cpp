#include <algorithm>

#include "ptx/ops/operations.hpp"
#include "ptx/rules/mbarrier.hpp"
#include "verifier/barrier_object.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;
using Kind = ir::Argument::Kind;

class Mbarriers {
 public:
  explicit Mbarriers(const Facts& facts) : facts_(facts), code_(facts.code) {}

  /// Whether some wait never ends.
  bool check() {
    for (const ir::Operation& op : code_.operations)
      if (facts_.is_formed(op)) check_numbers(op);
    if (!facts_.function.entry) return false;
    for (const ir::Operation& op : code_.operations) {
      if (op.opcode == Opcode::call) return false;  // the callee may initialise what it is given
      if (op.opcode == Opcode::mbarrier_init) {
        const auto init = ops::as<ops::Mbarrier>(op);
        const auto object = init ? find(init->object) : std::nullopt;
        if (!object) return false;
        initialised_.push_back(*object);
      }
    }
    for (const ir::Operation& op : code_.operations)
      if (const ir::Argument* used = facts_.is_formed(op) ? barrier_operand(op) : nullptr) check_use(op, *used);
    for (const flow::BasicBlock& b : facts_.cfg.blocks) check_live(b);
    return check_waits();
  }

 private:
  std::optional<BarrierObject> find(const ir::Argument& a) const { return barrier_object(facts_, a); }

  void check_numbers(const ir::Operation& op) {
    const bool init = op.opcode == Opcode::mbarrier_init,
               arrive = op.opcode == Opcode::mbarrier_arrive || op.opcode == Opcode::mbarrier_arrive_drop;
    const bool expects = expects_bytes(op) || op.opcode == Opcode::mbarrier_complete_tx;
    if (!init && !arrive && !expects) return;
    const auto x = ops::roles<ops::Mbarrier>(op);
    if (const auto count = facts_.constant(x.count, 32))
      judge(facts_.sink, rules::mbarrier_count(*count), {code_, op, x.count->operand});
    if (const auto bytes = facts_.constant(x.bytes, 32))
      judge(facts_.sink, rules::mbarrier_tx(*bytes), {code_, op, x.bytes->operand});
  }

  void check_use(const ir::Operation& op, const ir::Argument& used) {
    const auto object = find(used);
    if (!object) return;
    const bool initialised = std::any_of(initialised_.begin(), initialised_.end(),
                                         [&](const BarrierObject& o) { return o.may_be(*object); });
    const auto already = [&](const BarrierObject& o) { return o == *object; };
    if (!initialised && std::any_of(reported_.begin(), reported_.end(), already)) return;
    const rules::Verdict v =
        rules::mbarrier_use(initialised ? rules::BarrierState::initialised : rules::BarrierState::fresh);
    if (judge(facts_.sink, v, {code_, op, used.operand}, name(facts_, *object) + ", which no mbarrier.init names"))
      reported_.push_back(*object);
  }

  // The mbarrier.inits of one block, which the same threads execute one after the other. An mbarrier.inval may be of
  // any object that was initialised before it.
  void check_live(const flow::BasicBlock& block) {
    std::vector<BarrierObject> live;
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      const ir::Operation& op = code_.operations[i];
      if (op.opcode == Opcode::mbarrier_inval) live.clear();
      if (op.opcode != Opcode::mbarrier_init || op.guard || !facts_.is_formed(op)) continue;
      const auto init = ops::roles<ops::Mbarrier>(op);
      const auto object = find(init.object);
      if (!object || !object->offset.is_constant()) continue;
      const auto count = facts_.constant(init.count, 32);
      if (count && rules::mbarrier_count(*count).broken()) continue;  // which makes none
      const bool again = std::count(live.begin(), live.end(), *object) != 0;
      judge(facts_.sink, rules::mbarrier_overwritten(!again), {code_, op, init.object->operand},
            "a second mbarrier.init of " + name(facts_, *object) + ", which lives");
      live.push_back(*object);
    }
  }

  // A wait on a barrier that nothing in the kernel arrives on never ends, unless it asks for parity 1 of a fresh one.
  // Arrivals at addresses that are not followed, such as another CTA's, may be any barrier's: then nothing is reported.
  bool check_waits() {
    std::vector<BarrierObject> signalled, reported;
    for (const ir::Operation& op : code_.operations) {
      if (op.opcode == Opcode::mapa) return false;
      if (!arrives(op)) continue;
      const ir::Argument* at = facts_.is_formed(op) ? barrier_operand(op) : nullptr;
      const auto object = at ? find(*at) : std::nullopt;
      if (!object) return false;
      signalled.push_back(*object);
    }
    for (const ir::Operation& op : code_.operations) {
      if (!waits(op) || !op.modifiers.parity || !facts_.is_formed(op)) continue;
      const auto wait = ops::roles<ops::Mbarrier>(op);
      const auto object = find(wait.object);
      const auto parity = facts_.constant(wait.parity, 32);
      if (!object || (parity && *parity % 2 != 0)) continue;
      const auto same = [&](const BarrierObject& o) { return o.may_be(*object); };
      if (std::any_of(reported.begin(), reported.end(), same)) continue;
      const bool ok = std::any_of(signalled.begin(), signalled.end(), same);
      if (judge(facts_.sink, rules::mbarrier_wait(ok), {code_, op, wait.object->operand},
                "'" + code_.symbols[object->symbol].variable->name + "', on which nothing arrives"))
        reported.push_back(*object);
    }
    return !reported.empty();
  }

  const Facts& facts_;
  const ir::Code& code_;
  std::vector<BarrierObject> initialised_, reported_;
};

}  // namespace

bool check_mbarriers(const Facts& facts) { return Mbarriers(facts).check(); }

}  // namespace kiln::verifier
