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

  void check_all_numbers() {
    for (const ir::Operation& op : code_.operations)
      if (facts_.is_formed(op)) check_numbers(op);
  }

  /// Whether some wait never ends.
  bool check() {
    check_all_numbers();
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
      judge(facts_.sink, rules::mbarrier_count(*count, op.modifiers.mbarrier_layout), {code_, op, x.count->operand});
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
      if (count && rules::mbarrier_count(*count, op.modifiers.mbarrier_layout).broken()) continue;  // which makes none
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

constexpr int deepest_pointer = 32;  // operations between a pointer's source and its use

// The space that a pointer points into, where the code says so: a variable, cvta, or a parameter with .ptr.
std::optional<isa::Space> pointed_space(const Facts& facts, const ir::Argument& a, int depth = 0) {
  if (a.kind == Kind::symbol) return facts.code.symbols[a.id].variable->space;
  if (a.kind == Kind::address && a.count == 1) return pointed_space(facts, facts.code.components(a)[0], depth);
  if (a.kind != Kind::reg || depth > deepest_pointer) return std::nullopt;
  const ir::Operation* writer = facts.definitions.only_writer(a.id);
  if (!writer) return std::nullopt;
  const ops::Alu alu = ops::roles<ops::Alu>(*writer);
  switch (writer->opcode) {
    case Opcode::mov:
    case Opcode::cvt: return pointed_space(facts, alu.a, depth + 1);
    case Opcode::cvta: return writer->modifiers.space();
    case Opcode::add:
      if (const auto left = pointed_space(facts, alu.a, depth + 1)) return left;
      return pointed_space(facts, alu.b, depth + 1);
    case Opcode::ld: {
      const ir::Argument& from = ops::roles<ops::MemoryAccess>(*writer).address;
      if (from.kind != Kind::address || from.count != 1 || facts.code.components(from)[0].kind != Kind::symbol)
        return std::nullopt;
      const ir::Symbol& s = facts.code.symbols[facts.code.components(from)[0].id];
      const bool says = s.is_parameter && s.variable->is_pointer && s.variable->pointer_space != isa::Space::generic;
      return says ? std::optional(s.variable->pointer_space) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

// What a phase of an mbarrier waits for, where one kernel shows all of it.

// An instruction on an mbarrier whose place is known exactly.
struct Use {
  std::uint32_t operation = 0;
  BarrierObject object{};
};

bool crosses_ctas(const ir::Operation& op) {
  return op.opcode == Opcode::mapa || op.opcode == Opcode::call || op.modifiers.multicast() ||
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
    return facts_.cfg.repeats(home) ? std::nullopt : std::optional(arrivals[0]);
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

void check_mbarrier_numbers(const Facts& facts) { Mbarriers(facts).check_all_numbers(); }

bool check_mbarriers(const Facts& facts) { return Mbarriers(facts).check(); }

void check_phases(const Facts& facts) { Phases(facts).check(); }

void check_barrier_addresses(const Facts& facts) {
  std::vector<flow::Origin> misplaced;  // once for each object
  for (const ir::Operation& op : facts.code.operations) {
    const ir::Argument* at = facts.is_formed(op) ? barrier_operand(op) : nullptr;
    if (!at || at->count != 1) continue;
    const auto space = pointed_space(facts, *at);
    if (space && judge(facts.sink, rules::mbarrier_space(*space), {facts.code, op, at->operand},
                       "an address in ." + std::string(isa::spelling(*space))))
      continue;
    const flow::Bits bits = facts.known.of(facts.code.components(*at)[0], 64);
    if (bits.is_nothing()) continue;
    const auto low = std::uint32_t(bits.one % isa::mbarrier_bytes);
    const flow::Origin origin = facts.origins.of(*at);
    if (std::find(misplaced.begin(), misplaced.end(), origin) != misplaced.end()) continue;
    if (judge(facts.sink, rules::mbarrier_alignment(low), {facts.code, op, at->operand, false},
              "an address " + std::to_string(low) + " bytes after such a multiple"))
      misplaced.push_back(origin);
  }
}

}  // namespace kiln::verifier
