// tcgen05.mma, cp, shift and commit: what a thread hands to the tensor core. PTX ISA "tcgen05.mma", "tcgen05.commit".
//
// Descriptors are judged when the instruction is issued; operands are read when the unit gets to it.
#include <fmt/format.h>

#include "ptx/isa/mbarrier.hpp"
#include "ptx/isa/scales.hpp"
#include "ptx/isa/tcgen05.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/shared_memory.hpp"
#include "ptx/rules/tcgen05_mma.hpp"
#include "sim/alu.hpp"
#include "sim/tensor_core.hpp"

namespace kiln::sim {

void issue_tensor_op(Cta& cta, TensorOp op) {
  TensorQueue& q = cta.tensor;
  q.last_of_thread[op.thread] = ++q.issued;
  q.waiting.push_back(std::move(op));
  if (!q.busy) start_tensor_op(cta);
}

void start_tensor_op(Cta& cta) {
  TensorQueue& q = cta.tensor;
  q.busy = true;
  Cta* self = &cta;
  cta.cluster->later(8, 120, q.waiting.front().operation, [self] {
    TensorQueue& queue = self->tensor;
    TensorOp op = std::move(queue.waiting.front());
    queue.waiting.pop_front();
    op.action();
    ++queue.completed;
    if (self->cluster->grid.observer) self->cluster->grid.observer->complete(op.id);
    queue.busy = false;
    for (std::size_t k = 0; k < queue.commits.size();) {
      if (queue.commits[k].after > queue.completed) {
        ++k;
        continue;
      }
      self->cluster->later(1, 40, queue.commits[k].operation, std::move(queue.commits[k].action));
      queue.commits.erase(queue.commits.begin() + std::ptrdiff_t(k));
    }
    if (!queue.waiting.empty()) start_tensor_op(*self);
  });
}

void issue_commit(Cta& cta, std::uint32_t thread, const ir::Operation* operation, std::function<void()> action) {
  TensorQueue& q = cta.tensor;
  const std::uint64_t after = q.last_of_thread[thread];
  if (after <= q.completed)
    cta.cluster->later(1, 40, operation, std::move(action));
  else
    q.commits.push_back({after, operation, std::move(action)});
}

namespace {

using isa::Opcode;
using isa::ScalarType;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Slots of an mma: D, A, B, idesc, enable-input-d, SFA, SFB, then the lane masks.
enum : unsigned { at_d, at_a, at_b, at_idesc, at_enable, at_sfa, at_sfb, at_lanes };
enum : std::uint8_t { flag_a_tmem = 1, flag_lanes = 2, flag_shift_a = 4 };

void judge(Context& c, const Inst& i, const rules::Verdict& v) {
  if (!v.broken()) return;
  if (rules::info(v.rule).severity == diag::Severity::error) require(v);
  c.grid->report(i.operation, v.rule, std::to_string(v.given));
}

isa::Swizzle judge_descriptor(Context& c, const Inst& i, const isa::SharedDescriptorFields& d) {
  judge(c, i, rules::sdesc_fixed(d));
  judge(c, i, rules::sdesc_swizzle(d.swizzle_code));
  if (d.leading_is_absolute) unmodelled("matrix descriptors with an absolute leading dimension");
  const isa::Swizzle s = isa::descriptor_swizzle(d.swizzle_code).value_or(isa::Swizzle::none);
  judge(c, i, rules::sdesc_alignment(s, d.start, d.base_offset));
  return s;
}

// cta_group::2 is for the two CTAs of a pair: ranks that differ in the last bit.
void check_pair(const Context& c, isa::CtaGroup group) {
  const std::size_t ctas = c.cluster->ctas.size();
  if (group == isa::CtaGroup::two) require(rules::cta_pair(std::int64_t(ctas)), "a cluster of {}", ctas);
}

// The CTAs that an instruction works on.
std::vector<Cta*> group_of(Context& c, isa::CtaGroup group) {
  check_pair(c, group);
  if (group != isa::CtaGroup::two) return {c.cta};
  return {&c.cluster->ctas[c.cta->rank & ~1u], &c.cluster->ctas[c.cta->rank | 1u]};
}

MmaTask task_of(Context& c, const Inst& i, int lane) {
  const auto word = [&](unsigned k) { return c.read(c.slot(i, k), lane); };
  const isa::Modifiers& m = i.operation->modifiers;
  MmaTask t;
  t.operation = i.operation;
  t.kind = m.kind;
  t.group = m.cta_group;
  t.ws = i.operation->opcode == Opcode::tcgen05_mma_ws;
  check_pair(c, m.cta_group);
  t.d = u32(word(at_d)) + u32(i.value);
  t.a_in_tmem = (i.flags & flag_a_tmem) != 0;
  const auto idesc = u32(word(at_idesc));
  judge(c, i, rules::instruction_descriptor(m.kind, t.group, idesc, false, t.ws, t.a_in_tmem));
  t.shape = isa::unpack(idesc, m.kind);
  if (t.shape.k96) unmodelled("K = 96");
  if (t.a_in_tmem) {
    t.a_tmem = u32(word(at_a)) + i.target;
  } else {
    t.a = isa::unpack_shared(word(at_a));
    t.a_swizzle = judge_descriptor(c, i, t.a);
    judge(c, i, rules::sdesc_atom32(m.kind, t.shape.a_major, t.a_swizzle));
  }
  t.b = isa::unpack_shared(word(at_b));
  t.b_swizzle = judge_descriptor(c, i, t.b);
  judge(c, i, rules::sdesc_atom32(m.kind, t.shape.b_major, t.b_swizzle));
  t.accumulate = c.read_predicate(c.slot(i, at_enable), lane);
  t.scale_input_d = i.count;
  t.scale_vector = isa::scales_per_row(m.kind, m.scale_vector);
  t.sfa = u32(word(at_sfa)), t.sfb = u32(word(at_sfb));
  if (i.flags & flag_lanes)
    for (unsigned k = 0; k < 4u * unsigned(t.members()); ++k) t.disabled[k] = u32(word(at_lanes + k));
  return t;
}

AsyncId announce(Context& c, const Inst& i, int lane) {
  const AsyncId id = ++c.grid->last_async;
  if (c.grid->observer) c.grid->observer->issue(id, c.agent(1u << lane), *i.operation);
  return id;
}

// What the race detector must know of an MMA: bounding ranges of its operands.
void watch(Context& c, const Inst& i, int lane, const MmaTask& t, AsyncId id) {
  if (!c.grid->observer) return;
  const auto tell = [&](Range r, AccessKind k, Proxy p) {
    c.grid->observer->access(c.agent(1u << lane), *i.operation, r, k, p, id);
  };
  const auto footprint = [&](const isa::SharedDescriptorFields& d, isa::Swizzle s, isa::Major major, int rows) {
    for (int mn = 0; mn < rows; mn += 8) {
      const int size = std::max(8, isa::container_bits(t.kind)) / 8;
      const u32 at =
          major == isa::Major::K ? isa::k_major_address(d, s, mn, 0) : isa::mn_major_address(d, s, size, mn, 0);
      tell({isa::Space::shared_cta, c.cta->index, at & ~15u, u64(8 * isa::span_bytes(s)), 1}, AccessKind::read,
           Proxy::async);
    }
  };
  if (t.a_in_tmem)
    tell({isa::Space::reg, c.cta->index, t.a_tmem, isa::mma_k_bytes, isa::tmem_lanes}, AccessKind::read,
         Proxy::tensor_memory);
  else
    footprint(t.a, t.a_swizzle, t.shape.a_major, t.shape.m);
  footprint(t.b, t.b_swizzle, t.shape.b_major, t.shape.n);
  const Range d{isa::Space::reg, c.cta->index, t.d, u64(4 * isa::accumulator_columns(t.path(), t.shape.n)),
                isa::tmem_lanes};
  if (t.accumulate) tell(d, AccessKind::read, Proxy::tensor_memory);
  tell(d, AccessKind::write, Proxy::tensor_memory);
}

Status multiply(Context& c, const Inst& i, Mask lanes) {
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = first_lane(m);
    const MmaTask t = task_of(c, i, l);
    check_mma(t, *c.cta);
    const AsyncId id = announce(c, i, l);
    watch(c, i, l, t, id);
    Cta* cta = c.cta;
    const bool shift = (i.flags & flag_shift_a) != 0;
    issue_tensor_op(*cta,
                    {i.operation, id, c.thread(l), [cta, t, shift] {
                       execute_mma(cta->cluster->grid, t, *cta);
                       if (shift)
                         for (int k = 0; k < t.members(); ++k)
                           execute_shift(
                               t.a_tmem,
                               cta->cluster->ctas[t.members() == 2 ? (cta->rank & ~1u) + std::uint32_t(k) : cta->rank]);
                     }});
  }
  return Status::next;
}

// more[0]: the descriptor.
Status copy(Context& c, const Inst& i, Mask lanes) {
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = first_lane(m);
    CopyTask t;
    t.operation = i.operation;
    t.shape = i.operation->modifiers.shape;
    t.multicast = i.operation->modifiers.cp_multicast;
    t.to = u32(c.address(i, l));
    t.from = isa::unpack_shared(c.read(c.slot(i, 0), l));
    t.swizzle = judge_descriptor(c, i, t.from);
    const std::vector<Cta*> group = group_of(c, i.operation->modifiers.cta_group);
    for (Cta* cta : group) check_copy(t, *cta);
    issue_tensor_op(*c.cta, {i.operation, announce(c, i, l), c.thread(l), [group, t] {
                               for (Cta* cta : group) execute_copy(cta->cluster->grid, t, *cta);
                             }});
  }
  return Status::next;
}

Status shift(Context& c, const Inst& i, Mask lanes) {
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = first_lane(m);
    const auto address = u32(c.address(i, l));
    const std::vector<Cta*> group = group_of(c, i.operation->modifiers.cta_group);
    for (Cta* cta : group) cta->tmem.check_columns(int(address & 0xFFFF), isa::mma_k_bytes / 4, "tcgen05.shift");
    issue_tensor_op(*c.cta, {i.operation, announce(c, i, l), c.thread(l), [group, address] {
                               for (Cta* cta : group) execute_shift(address, *cta);
                             }});
  }
  return Status::next;
}

// more[0]: the CTA mask of a multicast.
Status commit(Context& c, const Inst& i, Mask lanes) {
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = first_lane(m);
    const Place p =
        locate_shared(c, isa::Space::shared_cluster, c.address(i, l), isa::mbarrier_bytes, isa::mbarrier_bytes, l);
    const auto address = u32(p.address);
    const u32 mask = i.flags ? u32(c.read(c.slot(i, 0), l)) & 0xFFFF : 1u << p.owner->rank;
    check_cta_mask(c, mask);
    for (Cta& cta : c.cluster->ctas)
      if (mask >> cta.rank & 1) cta.mbarriers.at(address);
    const AsyncId id = ++c.grid->last_async;
    if (c.grid->observer)
      c.grid->observer->sync(c.agent(1u << l), i.operation,
                             {SyncKind::tcgen05_commit, p.owner->index, address, mask, id});
    Cluster* cluster = c.cluster;
    const ir::Operation* operation = i.operation;
    issue_commit(*c.cta, c.thread(l), operation, [cluster, operation, mask, address, id] {
      for (Cta& cta : cluster->ctas)
        if (mask >> cta.rank & 1) signal_mbarrier(cta, address, 1, 0, id, operation);
    });
  }
  return Status::next;
}

// Operands behind the instruction descriptor: lane masks, scale addresses, enable-input-d, scale-input-d.
void lower_rest(Lowering& l, const ir::Operation& op, Inst& inst) {
  using Kind = ir::Argument::Kind;
  std::size_t at = 4;
  Slot sfa = l.constant(0, 4), sfb = sfa;
  const ir::Argument* disabled = nullptr;
  if (isa::is_block_scaled(op.modifiers.kind)) {
    const auto a = l.address(op.arg(at)), b = l.address(op.arg(at + 1));
    if (a.second || b.second) throw Gap{"scale addresses with an offset"};
    sfa = a.first, sfb = b.first;
    at += 2;
  } else if (op.arg(at).kind == Kind::vector) {
    disabled = &op.arg(at++);
  }
  l.append(inst, l.predicate(op.arg(at++)));
  l.append(inst, sfa);
  l.append(inst, sfb);
  if (disabled) {
    inst.flags |= flag_lanes;
    l.append_all(inst, *disabled, ScalarType::b32);
  }
  if (at >= op.arguments.size()) return;
  const ir::Argument& last = op.arg(at);
  if (op.opcode == Opcode::tcgen05_mma_ws && (last.kind != Kind::immediate || last.value != 0))
    throw Gap{"a zero-column mask"};
  inst.count = std::uint8_t(last.value & 15);
}

bool lower_mma(Lowering& l, const ir::Operation& op, Inst& inst) {
  const bool in_tmem = op.arg(1).kind == ir::Argument::Kind::address;
  const auto d = l.address(op.arg(0));
  l.append(inst, d.first);
  inst.value = d.second;
  if (in_tmem) {
    const auto a = l.address(op.arg(1));
    l.append(inst, a.first);
    inst.target = u32(a.second);
    inst.flags = flag_a_tmem;
  } else {
    l.append(inst, l.any_width(op.arg(1), ScalarType::b64));
  }
  l.append(inst, l.any_width(op.arg(2), ScalarType::b64));
  l.append(inst, l.any_width(op.arg(3), ScalarType::b32));
  if (op.modifiers.ashift) inst.flags |= flag_shift_a;
  lower_rest(l, op, inst);
  inst.run = multiply;
  return true;
}

}  // namespace

bool lower_tensor_core(Lowering& l, const ir::Operation& op, Inst& inst) {
  if (isa::unit(op.opcode) != isa::Unit::tcgen05) return false;
  switch (op.opcode) {
    case Opcode::tcgen05_mma:
    case Opcode::tcgen05_mma_ws: return lower_mma(l, op, inst);
    case Opcode::tcgen05_cp:
      if (op.modifiers.cp_source_format != isa::CpSourceFormat::none) throw Gap{"decompression"};
      l.address(inst, op.arg(0));
      l.append(inst, l.any_width(op.arg(1), ScalarType::b64));
      inst.run = copy;
      return true;
    case Opcode::tcgen05_shift:
      l.address(inst, op.arg(0));
      inst.run = shift;
      return true;
    case Opcode::tcgen05_commit:
      l.address(inst, op.arg(0));
      inst.flags = op.modifiers.multicast;
      l.append(inst, op.modifiers.multicast ? l.any_width(op.arg(1), ScalarType::u16) : l.constant(0, 4));
      inst.run = commit;
      return true;
    default: return false;
  }
}

}  // namespace kiln::sim
