#include <algorithm>

#include "ptx/rules/mbarrier.hpp"
#include "verifier/barriers.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using flow::Bits;
using flow::Origin;
using isa::Opcode;
using Kind = ir::Argument::Kind;

// An mbarrier as an instruction names it: a shared variable, and where in it as far as that is known.
struct Object {
  std::uint32_t symbol = 0;
  Bits offset{};

  // Whether the two may be the same object.
  bool may_be(const Object& o) const {
    const bool differs = ((offset.one & o.offset.zero) | (offset.zero & o.offset.one)) != 0;
    return symbol == o.symbol && !differs;
  }
};

class Mbarriers {
 public:
  explicit Mbarriers(const Facts& facts) : facts_(facts), code_(facts.code) {}

  void check() {
    for (const ir::Operation& op : code_.operations)
      if (facts_.is_formed(op)) check_numbers(op);
    if (!facts_.function.entry) return;
    for (const ir::Operation& op : code_.operations) {
      if (op.opcode == Opcode::call) return;  // the callee may initialise what it is given
      if (op.opcode == Opcode::mbarrier_init) {
        const auto object = op.arguments.empty() ? std::nullopt : find(op.arguments[0]);
        if (!object) return;
        initialised_.push_back(*object);
      }
    }
    for (const ir::Operation& op : code_.operations)
      if (const ir::Argument* used = facts_.is_formed(op) ? barrier_of(op) : nullptr) check_use(op, *used);
    check_waits();
  }

 private:
  std::optional<Object> find(const ir::Argument& a) const {
    const Origin o = facts_.origins.of(a);
    if (!o.is(Origin::Base::symbol) || !isa::is_shared(code_.symbols[o.id].variable->space)) return std::nullopt;
    return Object{o.id, o.added};
  }

  void check_numbers(const ir::Operation& op) {
    const bool init = op.opcode == Opcode::mbarrier_init,
               arrive = op.opcode == Opcode::mbarrier_arrive || op.opcode == Opcode::mbarrier_arrive_drop;
    const bool expects = op.opcode == Opcode::mbarrier_expect_tx || op.opcode == Opcode::mbarrier_complete_tx ||
                         (arrive && op.modifiers.expect_tx);
    if (op.arguments.size() < 2) return;
    const ir::Argument& last = op.arguments.back();
    const bool counts = init || (arrive && !expects && last.kind != Kind::address);
    if (!counts && !expects) return;
    const auto value = facts_.constant(last, 32);
    if (value)
      judge(facts_.sink, counts ? rules::mbarrier_count(*value) : rules::mbarrier_tx(*value),
            {code_, op, last.operand});
  }

  // The mbarrier that an instruction waits on, arrives at or completes on; null when there is none.
  const ir::Argument* barrier_of(const ir::Operation& op) const {
    const auto first_address = [&](std::size_t from) -> const ir::Argument* {
      for (std::size_t i = from; i < op.arguments.size(); ++i)
        if (op.arguments[i].kind == Kind::address) return &op.arguments[i];
      return nullptr;
    };
    switch (op.opcode) {
      case Opcode::mbarrier_arrive:
      case Opcode::mbarrier_arrive_drop:
      case Opcode::mbarrier_expect_tx:
      case Opcode::mbarrier_complete_tx:
      case Opcode::mbarrier_test_wait:
      case Opcode::mbarrier_try_wait:
      case Opcode::mbarrier_inval:
      case Opcode::tcgen05_commit:
      case Opcode::cp_async_mbarrier_arrive: return first_address(0);
      case Opcode::cp_async_bulk:
      case Opcode::cp_async_bulk_tensor:
        return op.modifiers.completion == isa::Completion::mbarrier ? first_address(2) : nullptr;
      default: return nullptr;
    }
  }

  void check_use(const ir::Operation& op, const ir::Argument& used) {
    const auto object = find(used);
    if (!object) return;
    const bool initialised =
        std::any_of(initialised_.begin(), initialised_.end(), [&](const Object& o) { return o.may_be(*object); });
    const auto already = [&](const Object& o) { return o.symbol == object->symbol && o.offset == object->offset; };
    if (!initialised && std::any_of(reported_.begin(), reported_.end(), already)) return;
    const rules::Verdict v =
        rules::mbarrier_use(initialised ? rules::BarrierState::initialised : rules::BarrierState::fresh);
    std::string name = "'" + code_.symbols[object->symbol].variable->name;
    if (object->offset.is_constant() && object->offset.one != 0)
      name += "+" + std::to_string(std::int64_t(object->offset.one));
    if (judge(facts_.sink, v, {code_, op, used.operand}, name + "', which no mbarrier.init names"))
      reported_.push_back(*object);
  }

  static bool arrives(const ir::Operation& op) {
    return op.opcode == Opcode::mbarrier_arrive || op.opcode == Opcode::mbarrier_arrive_drop ||
           op.opcode == Opcode::tcgen05_commit || op.opcode == Opcode::cp_async_mbarrier_arrive;
  }

  // A wait on a barrier that nothing in the kernel arrives on never ends, unless it asks for parity 1 of a fresh one.
  // Arrivals at addresses that are not followed, another CTA's among them, may be any barrier's: then nothing is said.
  void check_waits() {
    std::vector<Object> signalled, reported;
    for (const ir::Operation& op : code_.operations) {
      if (op.opcode == Opcode::mapa) return;
      if (!arrives(op)) continue;
      const ir::Argument* at = facts_.is_formed(op) ? barrier_of(op) : nullptr;
      const auto object = at ? find(*at) : std::nullopt;
      if (!object) return;
      signalled.push_back(*object);
    }
    for (const ir::Operation& op : code_.operations) {
      if (op.opcode != Opcode::mbarrier_try_wait && op.opcode != Opcode::mbarrier_test_wait) continue;
      if (!op.modifiers.parity || !facts_.is_formed(op) || op.arguments.size() < 3) continue;
      const auto object = find(op.arguments[1]);
      const auto parity = facts_.constant(op.arguments[2], 32);
      if (!object || (parity && *parity % 2 != 0)) continue;
      const auto same = [&](const Object& o) { return o.may_be(*object); };
      if (std::any_of(reported.begin(), reported.end(), same)) continue;
      const bool ok = std::any_of(signalled.begin(), signalled.end(), same);
      const std::string name = "'" + code_.symbols[object->symbol].variable->name + "', on which nothing arrives";
      if (judge(facts_.sink, rules::mbarrier_wait(ok), {code_, op, op.arguments[1].operand}, name))
        reported.push_back(*object);
    }
  }

  const Facts& facts_;
  const ir::Code& code_;
  std::vector<Object> initialised_, reported_;
};

}  // namespace

void check_mbarriers(const Facts& facts) { Mbarriers(facts).check(); }

}  // namespace kiln::verifier
