// tcgen05.mma, .sp, .ws and .ws.sp: a thread hands a multiplication to the tensor core. PTX ISA "tcgen05.mma",
// "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp".
#include "ptx/isa/mma_shape.hpp"
#include "ptx/isa/tcgen05.hpp"
#include "ptx/rules/shared_memory.hpp"
#include "ptx/rules/tcgen05_form.hpp"
#include "ptx/rules/tcgen05_mma.hpp"
#include "sim/async/async.hpp"
#include "sim/ops/alu.hpp"
#include "sim/ops/tensor_issue.hpp"
#include "sim/tensor/copy.hpp"
#include "sim/tensor/core.hpp"
#include "sim/tensor/footprint.hpp"
#include "sim/tensor/queue.hpp"

namespace kiln::sim {
namespace {

using isa::Opcode;
using isa::ScalarType;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Slots of an mma. An address is two: its base, and the offset written behind it. Lane masks come last.
enum : unsigned {
  at_d = 0,
  at_a = 2,
  at_metadata = 4,
  at_sfa = 6,
  at_sfb = 8,
  at_b = 10,
  at_idesc,
  at_enable,
  at_scale_d,
  at_mask,
  at_lanes
};
enum : std::uint8_t { flag_a_tmem = 1, flag_lanes = 2, flag_scale_d = 4, flag_mask = 8 };

bool is_sparse(Opcode op) { return op == Opcode::tcgen05_mma_sp || op == Opcode::tcgen05_mma_ws_sp; }
bool is_ws(Opcode op) { return op == Opcode::tcgen05_mma_ws || op == Opcode::tcgen05_mma_ws_sp; }

isa::MmaForm form_of(const Inst& i) {
  const isa::Modifiers& m = i.operation->modifiers;
  isa::MmaForm f;
  f.kind = m.kind;
  f.group = m.cta_group;
  f.sparse = is_sparse(i.operation->opcode);
  f.ws = is_ws(i.operation->opcode);
  f.block_scale = m.block_scale;
  f.scale_vector = m.scale_vector;
  f.a_in_tmem = (i.flags & flag_a_tmem) != 0;
  f.collector = m.collector;
  f.ashift = m.ashift;
  f.disable_output_lane = (i.flags & flag_lanes) != 0;
  f.scale_input_d = (i.flags & flag_scale_d) != 0;
  f.zero_column_mask = (i.flags & flag_mask) != 0;
  return f;
}

// What the text of the instruction and its descriptor must be by themselves and to each other.
void judge_form(Context& c, const Inst& i, const isa::MmaForm& f, u32 idesc,
                const isa::InstructionDescriptorFields& s) {
  judge(c, i, rules::mma_form(f, rules::Profile::isa));
  if (f.disable_output_lane) judge(c, i, rules::output_lanes(f, i.more_count - at_lanes));
  judge(c, i, rules::instruction_descriptor(f.kind, f.group, idesc, f.sparse, f.ws, f.a_in_tmem, f.scale_vector));
  if (s.k96) judge(c, i, rules::mma_k96(isa::sm_103a, f.group, f.sparse, s.m));  // the verifier asks the target
  if (f.ashift) judge(c, i, rules::ashift_m(s.m));
}

void read_descriptors(Context& c, const Inst& i, u64 a, u64 b, MmaTask& t) {
  if (!t.form.a_in_tmem) {
    t.a = isa::unpack_shared(a);
    t.a_swizzle = judge_descriptor(c, i, t.a);
    judge(c, i, rules::sdesc_atom32(t.form.kind, t.shape.a_major, t.a_swizzle));
  }
  t.b = isa::unpack_shared(b);
  t.b_swizzle = judge_descriptor(c, i, t.b);
  judge(c, i, rules::sdesc_atom32(t.form.kind, t.shape.b_major, t.b_swizzle));
}

MmaTask task_of(Context& c, const Inst& i, int lane) {
  const auto word = [&](unsigned k) { return c.read(c.slot(i, k), lane); };
  const auto address = [&](unsigned k) { return u32(word(k) + word(k + 1)); };
  MmaTask t;
  t.operation = i.operation;
  t.form = form_of(i);
  check_pair(c, t.form.group);
  const auto idesc = u32(word(at_idesc));
  t.shape = isa::unpack(idesc, t.form.kind);
  judge_form(c, i, t.form, idesc, t.shape);
  t.d = address(at_d);
  t.a_tmem = address(at_a);
  read_descriptors(c, i, word(at_a), word(at_b), t);
  t.accumulate = c.read_predicate(c.slot(i, at_enable), lane);
  const bool scales_d = t.form.kind == isa::MmaKind::f16 || t.form.kind == isa::MmaKind::tf32;
  if (t.form.scale_input_d) judge(c, i, rules::scale_input_d_value(std::int64_t(word(at_scale_d))));
  if (scales_d) t.scale_input_d = int(word(at_scale_d));  // kind::i8 takes it and drops it
  t.scale_vector = isa::scales_per_row(t.form.kind, t.form.scale_vector, t.shape.k96);
  t.sfa = address(at_sfa), t.sfb = address(at_sfb);
  t.metadata = address(at_metadata);
  t.mask = isa::unpack_zero_mask(word(at_mask));
  if (t.form.zero_column_mask) {
    judge(c, i, rules::zero_mask_fields(t.mask));
    judge(c, i, rules::zero_mask_shift(t.mask.shift, t.shape.m, isa::max_shift_columns(t.shape.max_shift)));
  }
  if (i.flags & flag_lanes)
    for (unsigned k = 0; k < 4u * unsigned(t.members()); ++k) t.disabled[k] = u32(word(at_lanes + k));
  return t;
}

// The instruction's step on its collector buffer. The operand that the buffer serves is told apart by its descriptor or
// address.
void step_collector(Context& c, const Inst& i, int lane, const MmaTask& t) {
  const auto word = [&](unsigned k) { return c.read(c.slot(i, k), lane); };
  const u64 operand = t.form.ws ? word(at_b) : t.form.a_in_tmem ? u64{1} << 63 | t.a_tmem : word(at_a);
  auto& state = c.cta->tensor.collectors[std::size_t(isa::collector_buffer(t.form.collector, t.form.ws))];
  const auto [next, verdict] = rules::step(state, isa::collector_use(t.form.collector), operand + 1);
  if (verdict.broken())
    fault(verdict.rule, "." + std::string(isa::spelling(t.form.collector)) +
                            (state.filled ? " with another operand than the fill's" : " where no fill is live"));
  state = next;
}

void execute(const MmaTask& t, Cta& issuer) {
  execute_mma(issuer.cluster->grid, t, issuer);
  if (!t.form.ashift) return;
  for (int k = 0; k < t.members(); ++k) execute_shift(t.a_tmem, member(t, issuer, k));
}

Status multiply(Context& c, const Inst& i, Mask lanes) {
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = first_lane(m);
    const MmaTask t = task_of(c, i, l);
    check_mma(t, *c.cta);
    step_collector(c, i, l, t);
    const AsyncId id = announce(c, i, l);
    if (c.grid->observer) {
      c.grid->observer->multiply(id, c.agent(1u << l), t);
      tell_mma(c, i, l, t, id);
      for (int k = 0; t.form.ashift && k < t.members(); ++k) tell_shift(c, i, l, t.a_tmem, member(t, *c.cta, k), id);
    }
    Cta* cta = c.cta;
    issue_tensor_op(*cta, {i.operation, id, c.thread(l), [cta, t] { execute(t, *cta); }});
  }
  return Status::next;
}

void append_address(Binder& l, Inst& inst, std::pair<Slot, std::int64_t> address) {
  l.append(inst, address.first);
  l.append(inst, l.constant(u64(address.second), 8));
}

// What stands behind the instruction descriptor; null where the instruction has none.
struct Tail {
  const ir::Argument* sfa = nullptr;
  const ir::Argument* sfb = nullptr;
  const ir::Argument* lanes = nullptr;
  const ir::Argument* enable = nullptr;
  const ir::Argument* scale_d = nullptr;
  const ir::Argument* mask = nullptr;
};

Tail tail_of(const ir::Operation& op, std::size_t at) {
  using Kind = ir::Argument::Kind;
  Tail t;
  if (op.modifiers.block_scale) {
    t.sfa = &op.arg(at++);
    t.sfb = &op.arg(at++);
  } else if (op.arg(at).kind == Kind::vector) {
    t.lanes = &op.arg(at++);
  }
  t.enable = &op.arg(at++);
  if (at == op.arguments.size()) return t;
  const ir::Argument& last = op.arg(at);
  if (at + 1 < op.arguments.size() || (!is_ws(op.opcode) && last.kind != Kind::immediate))
    throw Gap{"a second predicate, which the ISA does not describe"};
  (is_ws(op.opcode) ? t.mask : t.scale_d) = &last;
  return t;
}

}  // namespace

bool bind_mma(Binder& l, const ir::Operation& op, Inst& inst) {
  const bool sparse = is_sparse(op.opcode), a_in_tmem = op.arg(1).kind == ir::Argument::Kind::address;
  const std::size_t at = sparse ? 4 : 3;
  const Tail tail = tail_of(op, at + 1);
  const std::pair<Slot, std::int64_t> none{l.constant(0, 4), 0};
  inst.flags = std::uint8_t((a_in_tmem ? flag_a_tmem : 0) | (tail.lanes ? flag_lanes : 0) |
                            (tail.scale_d ? flag_scale_d : 0) | (tail.mask ? flag_mask : 0));
  append_address(l, inst, l.address(op.arg(0)));
  append_address(
      l, inst, a_in_tmem ? l.address(op.arg(1)) : std::pair{l.any_width(op.arg(1), ScalarType::b64), std::int64_t{0}});
  append_address(l, inst, sparse ? l.address(op.arg(3)) : none);
  append_address(l, inst, tail.sfa ? l.address(*tail.sfa) : none);
  append_address(l, inst, tail.sfb ? l.address(*tail.sfb) : none);
  l.append(inst, l.any_width(op.arg(2), ScalarType::b64));
  l.append(inst, l.any_width(op.arg(at), ScalarType::b32));
  l.append(inst, l.predicate(*tail.enable));
  l.append(inst, l.constant(tail.scale_d ? u64(tail.scale_d->value) : 0, 8));
  l.append(inst, tail.mask ? l.any_width(*tail.mask, ScalarType::b64) : l.constant(0, 8));
  if (tail.lanes) l.append_all(inst, *tail.lanes, ScalarType::b32);
  inst.run = multiply;
  return true;
}

}  // namespace kiln::sim
