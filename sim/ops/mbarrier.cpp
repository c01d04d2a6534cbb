// Instructions on mbarrier objects. PTX ISA "mbarrier".
//
// A failed try_wait or test_wait suspends its lanes until the barrier changes. It answers false when nothing else can
// happen, so that a loop around it costs nothing; and where false leads elsewhere (a peek), now and then before that,
// as the schedule chooses.
#include "sim/ops/mbarrier.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>

#include "ptx/isa/mbarrier.hpp"
#include "ptx/rules/mbarrier.hpp"
#include "ptx/rules/memory.hpp"
#include "sim/async/async.hpp"
#include "sim/async/mbarrier_signal.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/ops/alu.hpp"

namespace kiln::sim {

namespace {

enum : u8 { flag_parity = 1, flag_drop = 2, flag_expect = 4, flag_no_complete = 8, flag_remote = 16, flag_peek = 32 };

// The object at a lane's address. Its eight bytes must still be what the unit left there.
struct Object {
  Cta* owner = nullptr;
  u32 address = 0;
};
Object checked(const Object& o) {
  const u64 word = o.owner->mbarriers.at(o.address).word();
  const bool agrees = std::memcmp(&word, o.owner->shared.view(o.address).data, sizeof word) == 0;
  require(rules::mbarrier_overwritten(agrees), "shared address {:#x}", o.address);
  return o;
}
Object object(Context& c, const Inst& i, int lane, bool fresh = false) {
  const auto space = Space(i.space);
  const Place p = locate_shared(c, space, c.address(i, lane), isa::mbarrier_bytes, isa::mbarrier_bytes, lane);
  const Object o{p.owner, u32(p.address)};
  return fresh ? o : checked(o);
}

// Calls f(object) for the object of a lane's address; with a mask of CTAs (more[1]) for the one at the same offset in
// each of them.
template <class F>
void for_objects(Context& c, const Inst& i, int lane, F f) {
  if (i.more_count < 2) return f(object(c, i, lane));
  const u32 mask = cta_mask(*i.operation, c.value(i, 1, lane)), address = object(c, i, lane, true).address;
  check_cta_mask(c, mask);
  for (Cta& cta : c.cluster->ctas)
    if (mask >> cta.rank & 1) f(checked({&cta, address}));
}

void tell(Context& c, const Inst& i, int lane, const Object& o, SyncKind kind, u64 value) {
  observe(c, i, 1u << lane, Sync{kind, o.owner->index, o.address, value, 0});
}

// Lanes of a warp that have gone different ways come to one mbarrier.init in parts: it is as the first of them made it.
Mbarrier* made_by_other_lanes(Context& c, const Inst& i, const Object& o, std::int64_t count, Mask lanes) {
  if (!o.owner->mbarriers.find(o.address)) return nullptr;
  Mbarrier& b = o.owner->mbarriers.at(o.address);
  const bool is_fresh = b.phase == 0 && b.tx == 0 && b.pending == b.expected && b.arrivers.empty();
  const Mbarrier::Arrival& by = b.made;
  return is_fresh && b.expected == count && by.operation == i.operation && by.cta == c.cta->index &&
                 by.warp == c.warp->index && (by.lanes & lanes) == 0
             ? &b
             : nullptr;
}

// more[0]: the count. Lanes that give one object the same count initialise it together.
void init(Context& c, const Inst& i, Mask lanes) {
  for (Mask left = lanes; left;) {
    const int first = std::countr_zero(left);
    const Object o = object(c, i, first, true);
    const auto n = std::int64_t(u32(c.value(i, 0, first)));
    const Mask same = lanes_where(left, [&](int l) {
      const Object other = object(c, i, l, true);
      return other.owner == o.owner && other.address == o.address && u32(c.value(i, 0, l)) == u32(n);
    });
    left &= ~same;
    Mbarrier* made = made_by_other_lanes(c, i, o, n, same);
    if (!made) {
      made = &o.owner->mbarriers.init(o.address, n);
      made->made = {i.operation, 0, c.cta->index, c.warp->index, 0};
      made->is_v1 = i.operation->modifiers.mbarrier_layout == isa::MbarrierLayout::v1;
      mirror_mbarrier(*o.owner, o.address);
    }
    made->made.lanes |= same;
    if (const auto v = rules::mbarrier_init_lanes(std::popcount(made->made.lanes)); v.broken())
      c.grid->report(i.operation, v);
    observe(c, i, same, Sync{SyncKind::mbarrier_init, o.owner->index, o.address, u64(n), 0});
  }
  c.cluster->changed(WaitKind::mbarrier);
}

void invalidate(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const Object o = object(c, i, l);
    o.owner->mbarriers.invalidate(o.address);
    o.owner->shared.poison(o.address, isa::mbarrier_bytes);
    tell(c, i, l, o, SyncKind::mbarrier_inval, 0);
  }
}

// more[0]: count or bytes; d: the state, in a 64-bit register.
void arrive_at(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes))
    for_objects(c, i, l, [&](const Object& o) {
      const auto n = std::int64_t(u32(c.value(i, 0, l)));
      MbarrierTable& table = o.owner->mbarriers;
      if (i.flags & flag_expect) {
        table.expect(o.address, n);
        table.at(o.address).announcer = {i.operation, 0, c.cta->index, c.warp->index, 1u << l};
        tell(c, i, l, o, SyncKind::mbarrier_expect, u64(n));
      }
      const u64 state = table.at(o.address).word();
      table.at(o.address).arrived({i.operation, phase_of_state(state), c.cta->index, c.warp->index, 1u << l});
      const std::int64_t arrivals = i.flags & flag_expect ? 1 : n;
      tell(c, i, l, o, SyncKind::mbarrier_arrive, phase_of_state(state));
      const bool flipped =
          table.arrive(o.address, arrivals, (i.flags & flag_drop) != 0, (i.flags & flag_no_complete) != 0);
      publish_mbarrier(*o.owner, o.address, flipped);
      c.lanes<u64>(i.d)[l] = state;
    });
}

void expect_tx(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes))
    for_objects(c, i, l, [&](const Object& o) {
      const auto n = std::int64_t(u32(c.value(i, 0, l)));
      o.owner->mbarriers.expect(o.address, n);
      o.owner->mbarriers.at(o.address).announcer = {i.operation, 0, c.cta->index, c.warp->index, 1u << l};
      mirror_mbarrier(*o.owner, o.address);
      tell(c, i, l, o, SyncKind::mbarrier_expect, u64(n));
    });
  ++c.cluster->stamp;
}

void complete_tx(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes))
    for_objects(c, i, l, [&](const Object& o) {
      const auto n = std::int64_t(u32(c.value(i, 0, l)));
      tell(c, i, l, o, SyncKind::mbarrier_complete, u64(n));
      signal_mbarrier(*o.owner, o.address, 0, n);
    });
}

bool phase_done(Context& c, const Inst& i, const Mbarrier& b, int lane) {
  const u64 operand = c.value(i, 0, lane);
  if (i.flags & flag_parity) return MbarrierTable::completed(b, (operand & 1) != 0);
  return b.phase != phase_of_state(operand);
}

// The phase that was open when the fragment began to wait for this object.
u64 first_phase(const Context& c, const Object& o, const Mbarrier& b) {
  const Wait& w = c.fragment->wait;
  return w.kind == WaitKind::mbarrier && w.cta_rank == o.owner->rank && w.address == o.address ? w.phase : b.phase;
}

// more[0]: the state or parity; d: the predicate.
Status wait_for_phase(Context& c, const Inst& i, Mask lanes) {
  Mask done = 0;
  Wait w;
  for (const int l : each_lane(lanes)) {
    const Object o = object(c, i, l);
    require(rules::shared_remote(o.owner->rank, c.cta->rank), "a wait on an mbarrier of CTA {} of the cluster",
            o.owner->rank);
    const Mbarrier& b = o.owner->mbarriers.at(o.address);
    if (phase_done(c, i, b, l)) {
      done |= 1u << l;
      continue;
    }
    w = {WaitKind::mbarrier, o.owner->rank, o.address, first_phase(c, o, b), 0};
    if (c.grid->observer && b.phase >= w.phase + 2) tell(c, i, l, o, SyncKind::mbarrier_lapped, b.phase - w.phase);
  }
  if (done != lanes && !c.fragment->expired) return c.block(w);
  c.fragment->expired = false;
  if (done == lanes || (i.flags & flag_peek)) c.fragment->wait = {};  // after a peek it may wait for another phase
  if (c.grid->observer)
    for (const int l : each_lane(done)) {
      const Object o = object(c, i, l);
      tell(c, i, l, o, SyncKind::mbarrier_observe, o.owner->mbarriers.at(o.address).phase);
    }
  c.write_mask(i.d, lanes, done);
  return Status::next;
}

bool passes(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const Object o = object(c, i, l);
    if (!phase_done(c, i, o.owner->mbarriers.at(o.address), l)) return false;
  }
  return true;
}

// d: whether the object was initialised with the layout that the instruction names.
void check_layout(Context& c, const Inst& i, Mask lanes) {
  const bool v1 = i.operation->modifiers.mbarrier_layout == isa::MbarrierLayout::v1;
  const Mask same = lanes_where(lanes, [&](int l) {
    const Object o = object(c, i, l);
    return o.owner->mbarriers.at(o.address).is_v1 == v1;
  });
  c.write_mask(i.d, lanes, same);
}

constexpr int longest_way_back = 32;  // instructions from a wait that fails to the same wait

// What is known of registers after a wait has answered false.
class AfterFailure {
 public:
  AfterFailure(const Program& program, std::size_t wait) : program_(program), wait_(wait) { set(wait, 0); }

  /// The next that the threads execute with an effect outside of their registers is the same wait.
  bool leads_back() {
    std::size_t at = wait_ + 1;
    for (int k = 0; k < longest_way_back && at != wait_; ++k) {
      const Inst& i = program_.insts[at];
      if (!i.operation) return false;
      const ir::Operation& op = *i.operation;
      const std::optional<bool> runs = is_executed(op);
      const bool branches = op.opcode == Opcode::bra;
      if (branches ? !runs : isa::unit(op.opcode) != isa::Unit::alu && runs != false) return false;
      if (!branches && runs != false) set(at, runs ? result(op) : std::nullopt);
      at = branches && *runs ? i.target : at + 1;
    }
    return at == wait_;
  }

 private:
  std::optional<std::int64_t> value(const ir::Argument& a) const {
    if (a.kind == ir::Argument::Kind::immediate) return a.value;
    const auto found = a.kind == ir::Argument::Kind::reg ? known_.find(a.id) : known_.end();
    if (found == known_.end()) return std::nullopt;
    return a.negated ? std::int64_t(found->second == 0) : found->second;
  }

  std::optional<bool> is_executed(const ir::Operation& op) const {
    if (!op.guard) return true;
    const auto found = known_.find(*op.guard);
    if (found == known_.end()) return std::nullopt;
    return (found->second != 0) != op.guard_negated;
  }

  // Compilers turn the predicate into a number and compare that.
  std::optional<std::int64_t> result(const ir::Operation& op) const {
    const ops::Alu alu = ops::roles<ops::Alu>(op);
    switch (op.opcode) {
      case Opcode::mov: return value(alu.a);
      case Opcode::selp: {
        const auto chosen = value(alu.c);
        return chosen ? value(*chosen ? alu.a : alu.b) : std::nullopt;
      }
      case Opcode::setp: {
        const auto a = value(alu.a), b = value(alu.b);
        if (!a || !b || alu.c) return std::nullopt;
        if (op.modifiers.compare == isa::Compare::eq) return *a == *b;
        if (op.modifiers.compare == isa::Compare::ne) return *a != *b;
        return std::nullopt;
      }
      default: return std::nullopt;
    }
  }

  void set(std::size_t at, std::optional<std::int64_t> value) {
    const auto written = program_.code->written(*program_.insts[at].operation);
    for (const ir::RegisterId r : written) {
      known_.erase(r);
      if (value && written.size() == 1) known_[r] = *value;
    }
  }

  const Program& program_;
  const std::size_t wait_;
  std::map<ir::RegisterId, std::int64_t> known_{};
};

using PendingCount = decltype([](u64 state) { return pending_of_state(state); });

}  // namespace

bool mbarrier_wait_passes(Context& c, const Inst& i, Mask lanes) {
  try {
    return passes(c, i, lanes);
  } catch (const Fault&) {
    return true;
  }
}

void mark_peeks(Program& program) {
  for (std::size_t k = 0; k < program.insts.size(); ++k)
    if (program.insts[k].run == wait_for_phase && !AfterFailure(program, k).leads_back())
      program.insts[k].flags |= flag_peek;
}

bool is_peek(const Inst& i) { return i.run == wait_for_phase && (i.flags & flag_peek); }

bool has_peeks(const Program& program) { return std::any_of(program.insts.begin(), program.insts.end(), is_peek); }

void bind_mbarrier_init(Binder& binder, const ir::Operation& op, const ops::Mbarrier& m, Inst& inst) {
  binder.access(inst, op, m.object);
  binder.append(inst, binder.any_width(m.count, ScalarType::u32));
  inst.run = goes_on<init>;
}

void bind_mbarrier_inval(Binder& binder, const ir::Operation& op, const ops::Mbarrier& m, Inst& inst) {
  binder.access(inst, op, m.object);
  inst.run = goes_on<invalidate>;
}

void bind_mbarrier_arrive(Binder& binder, const ir::Operation& op, const ops::Mbarrier& m, Inst& inst) {
  binder.access(inst, op, m.object);
  const bool returns = m.state->kind == ir::Argument::Kind::reg;
  inst.d = (returns ? binder.result(m.state, ScalarType::b64) : binder.scratch(8)).offset;
  inst.flags = u8((op.opcode == Opcode::mbarrier_arrive_drop ? flag_drop : 0) |
                  (op.modifiers.expect_tx ? flag_expect : 0) | (op.modifiers.no_complete ? flag_no_complete : 0));
  const ops::Operand amount = m.bytes ? m.bytes : m.count;
  if (op.modifiers.no_complete && !amount) throw Gap{".noComplete without a count"};  // ptxas refuses it
  binder.append(inst, amount ? binder.any_width(amount, ScalarType::u32) : binder.constant(1, 4));
  if (m.ctas) binder.append(inst, binder.any_width(m.ctas, ScalarType::u32));
  inst.run = goes_on<arrive_at>;
}

void bind_mbarrier_transaction(Binder& binder, const ir::Operation& op, const ops::Mbarrier& m, Inst& inst) {
  binder.access(inst, op, m.object);
  binder.append(inst, binder.any_width(m.bytes, ScalarType::u32));
  if (m.ctas) binder.append(inst, binder.any_width(m.ctas, ScalarType::u32));
  inst.run = op.opcode == Opcode::mbarrier_expect_tx ? goes_on<expect_tx> : goes_on<complete_tx>;
}

void bind_mbarrier_wait(Binder& binder, const ir::Operation& op, const ops::Mbarrier& m, Inst& inst) {
  binder.access(inst, op, m.object);
  inst.d = binder.any_result(m.done, ScalarType::pred).offset;
  inst.flags = m.parity ? flag_parity : 0;
  binder.append(inst,
                m.parity ? binder.any_width(m.parity, ScalarType::u32) : binder.any_width(m.state, ScalarType::b64));
  inst.run = wait_for_phase;
}

void bind_mbarrier_layout(Binder& binder, const ir::Operation& op, const ops::Mbarrier& m, Inst& inst) {
  binder.access(inst, op, m.object);
  inst.d = binder.any_result(m.done, ScalarType::pred).offset;
  inst.run = goes_on<check_layout>;
}

void bind_mbarrier_pending_count(Binder& binder, const ir::Operation&, const ops::Mbarrier& m, Inst& inst) {
  inst.d = binder.result(m.count, ScalarType::u32).offset;
  inst.a = binder.source(m.state, ScalarType::b64).offset;
  inst.run = unary<PendingCount, u64, u32>;
}

}  // namespace kiln::sim
