// tcgen05.mma, .sp, .ws and .ws.sp: a thread hands a multiplication to the tensor core. PTX ISA "tcgen05.mma",
// "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp".
#include <fmt/format.h>

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

// Slots of an mma. An address is two: its base, and the offset written after it. Lane masks come last.
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
// Rules that hold for every execution, because they hold for the text and for a descriptor that is a number.
enum : u8 { flag_form_holds = 1, flag_descriptor_holds = 2, flag_of_sm_107 = 4 };

const isa::MmaForm& form_of(const Context& c, const Inst& i) { return c.grid->program.forms[i.target]; }

// What the text of the instruction must be by itself.
template <typename Judge>
void check_mma_form(const isa::MmaForm& f, std::size_t lane_masks, const Judge& judge) {
  judge(rules::mma_form(f, rules::Profile::isa));
  if (f.disable_output_lane) judge(rules::output_lanes(f, std::int64_t(lane_masks)));
}

// What the instruction descriptor must be by itself and to the text.
template <typename Judge>
void check_descriptor(const isa::MmaForm& f, u32 idesc, const isa::InstructionDescriptorFields& s, const Judge& judge) {
  judge(rules::instruction_descriptor(f.kind, f.group, idesc, f.sparse, f.ws, f.a_in_tmem, f.scale_vector));
  if (s.k96) judge(rules::mma_k96(isa::sm_103a, f.group, f.sparse, s.m));  // the verifier asks the target
  if (s.wide) judge(rules::mma_wide(isa::sm_100a, f.kind, f.sparse));  // on sm_107 it is not followed
  if (f.ashift) judge(rules::ashift_m(s.m));
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
  const auto word = [&](unsigned k) { return c.value(i, k, lane); };
  const auto address = [&](unsigned k) { return u32(word(k) + word(k + 1)); };
  MmaTask t;
  t.operation = i.operation;
  t.form = form_of(c, i);
  check_pair(c, t.form.group);
  const auto idesc = u32(word(at_idesc));
  t.shape = isa::unpack(idesc, t.form.kind);
  const auto ask = [&](const rules::Verdict& v) { judge(c, i, v); };
  if (!(i.flags & flag_form_holds)) check_mma_form(t.form, i.more_count - at_lanes, ask);
  if (t.shape.wide && (i.flags & flag_of_sm_107)) unmodelled("K of 64 bytes, whose sums are not published");
  if ((i.flags & flag_of_sm_107) && isa::says_more_on_sm_107(idesc, t.form.kind, t.form.sparse))
    unmodelled(fmt::format("an instruction descriptor {:#x} of sm_107", idesc));
  if (!(i.flags & flag_descriptor_holds)) check_descriptor(t.form, idesc, t.shape, ask);
  t.d = address(at_d);
  t.a_tmem = address(at_a);
  read_descriptors(c, i, word(at_a), word(at_b), t);
  t.accumulate = c.read_predicate(c.slot(i, at_enable), lane);
  const bool scales_d = t.form.kind == isa::MmaKind::f16 || t.form.kind == isa::MmaKind::tf32;
  if (t.form.scale_input_d) judge(c, i, rules::scale_input_d_value(std::int64_t(word(at_scale_d))));
  if (scales_d) t.scale_input_d = int(word(at_scale_d));  // kind::i8 takes it and drops it
  if (isa::is_block_scaled(t.form.kind) && isa::scale_format(t.shape.scale_format) == isa::ScalarType::ue5m3)
    unmodelled("ue5m3 scales, whose sums are not published");
  t.scale_vector = isa::scales_per_row(t.form.kind, t.form.scale_vector, t.shape.k96);
  t.sfa = address(at_sfa), t.sfb = address(at_sfb);
  t.metadata = address(at_metadata);
  t.mask = isa::unpack_zero_mask(word(at_mask));
  if (t.form.zero_column_mask) {
    judge(c, i, rules::zero_mask_fields(t.mask));
    judge(c, i, rules::zero_mask_shift(t.mask.shift, t.shape.m, isa::max_shift_columns(t.shape.max_shift)));
  }
  if (t.form.disable_output_lane)
    for (unsigned k = 0; k < 4u * unsigned(t.members()); ++k) t.disabled[k] = u32(word(at_lanes + k));
  return t;
}

// The instruction's step on one collector buffer. The operand that the buffer serves is told apart by its descriptor or
// address.
void step_collector(Context& c, int buffer, isa::CollectorUse use, std::string_view spelling, u64 operand) {
  auto& state = c.cta->tensor.collectors[std::size_t(buffer)];
  const auto [next, verdict] = rules::step(state, use, operand + 1);
  if (verdict.broken())
    fault(verdict.rule, "." + std::string(spelling) +
                            (state.filled ? " with another operand than the fill's" : " where no fill is live"));
  state = next;
}

void step_collectors(Context& c, const Inst& i, int lane, const MmaTask& t) {
  const auto word = [&](unsigned k) { return c.value(i, k, lane); };
  const isa::MmaForm& f = t.form;
  const u64 operand = f.ws ? word(at_b) : f.a_in_tmem ? u64{1} << 63 | t.a_tmem : word(at_a);
  step_collector(c, isa::collector_buffer(f.collector, f.ws), isa::collector_use(f.collector),
                 isa::spelling(f.collector), operand);
  if (!f.ws)
    step_collector(c, isa::collector_b_buffer, isa::collector_use(f.collector_b), isa::spelling(f.collector_b),
                   word(at_b));
}

void execute(const MmaTask& t, Cta& issuer) {
  execute_mma(issuer.cluster->grid, t, issuer);
  if (!t.form.ashift) return;
  for (int k = 0; k < t.members(); ++k) execute_shift(t.a_tmem, member(t, issuer, k));
}

void multiply_tensor(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const MmaTask t = task_of(c, i, l);
    check_mma(t, *c.cta);
    step_collectors(c, i, l, t);
    const AsyncId id = announce(c, i, l);
    if (c.grid->observer) {
      c.grid->observer->multiply(id, c.agent(1u << l), t);
      tell_mma(c, i, l, t, id);
      for (int k = 0; t.form.ashift && k < t.members(); ++k) tell_shift(c, i, l, t.a_tmem, member(t, *c.cta, k), id);
    }
    Cta* cta = c.cta;
    issue_tensor_op(*cta, {i.operation, id, c.thread(l), [cta, t] { execute(t, *cta); }});
  }
}

}  // namespace

void bind_mma(Binder& binder, const ir::Operation&, const ops::Mma& x, Inst& inst) {
  if (x.second_predicate) throw Gap{"a second predicate, which the ISA does not describe"};
  binder.append_address(inst, x.d);
  if (x.form.a_in_tmem) {
    binder.append_address(inst, x.a);
  } else {
    binder.append(inst, binder.any_width(x.a, ScalarType::b64));
    binder.append(inst, binder.constant(0, 8));
  }
  for (const ops::Operand& o : {x.metadata, x.sfa, x.sfb}) binder.append_address(inst, o);
  binder.append(inst, binder.any_width(x.b, ScalarType::b64));
  binder.append(inst, binder.any_width(x.idesc, ScalarType::b32));
  binder.append(inst, binder.predicate(x.enable_input_d));
  binder.append(inst, binder.constant(u64(x.scale_input_d->value), 8));
  binder.append(inst, x.zero_mask ? binder.any_width(x.zero_mask, ScalarType::b64) : binder.constant(0, 8));
  if (x.lanes) binder.append_all(inst, x.lanes, ScalarType::b32);
  bool holds = true;
  const auto ask = [&](const rules::Verdict& v) { holds &= !v.broken(); };
  check_mma_form(x.form, inst.more_count - at_lanes, ask);
  if (holds) inst.flags |= flag_form_holds;
  const auto target = binder.code().module->target();
  if (target && target->sm == 107) inst.flags |= flag_of_sm_107;
  if (x.idesc->kind == ir::Argument::Kind::immediate) {
    const auto idesc = u32(x.idesc->value);
    holds = true;
    check_descriptor(x.form, idesc, isa::unpack(idesc, x.form.kind), ask);
    if (holds) inst.flags |= flag_descriptor_holds;
  }
  inst.target = binder.add(x.form);
  inst.run = goes_on<multiply_tensor>;
}

}  // namespace kiln::sim
