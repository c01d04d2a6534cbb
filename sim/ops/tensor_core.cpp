// tcgen05.cp, shift and commit: what a thread hands to the tensor core. PTX ISA "tcgen05.cp", "tcgen05.shift",
// "tcgen05.commit".
//
// Descriptors are judged when the instruction is issued; operands are read when the unit gets to it.
#include <string>

#include "ptx/isa/mbarrier.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/shared_memory.hpp"
#include "sim/async/async.hpp"
#include "sim/async/mbarrier_signal.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/ops/alu.hpp"
#include "sim/ops/tensor_issue.hpp"
#include "sim/tensor/copy.hpp"
#include "sim/tensor/core.hpp"
#include "sim/tensor/footprint.hpp"
#include "sim/tensor/queue.hpp"

namespace kiln::sim {

void judge(Context& c, const Inst& i, const rules::Verdict& v) {
  if (!v.broken()) return;
  if (rules::info(v.rule).severity == diag::Severity::error) require(v);
  c.grid->report(i.operation, v);
}

isa::Swizzle judge_descriptor(Context& c, const Inst& i, const isa::SharedDescriptorFields& d) {
  if (d.reserved & isa::sdesc_bits_of_sm_107) {
    const auto target = c.grid->program.code->module->target();
    if (target && target->sm == 107) unmodelled("a matrix descriptor of sm_107");
  }
  judge(c, i, rules::sdesc_fixed(d));
  judge(c, i, rules::sdesc_swizzle(d.swizzle_code));
  const isa::Swizzle s = isa::descriptor_swizzle(d.swizzle_code).value_or(isa::Swizzle::none);
  judge(c, i, rules::sdesc_alignment(s, d.start, d.base_offset));
  return s;
}

// cta_group::2 is for the two CTAs of a pair: ranks that differ in the last bit.
void check_pair(const Context& c, isa::CtaGroup group) {
  const std::size_t ctas = c.cluster->ctas.size();
  if (group == isa::CtaGroup::two) require(rules::cta_pair(std::int64_t(ctas)), "a cluster of {}", ctas);
}

namespace {

// The CTAs that an instruction works on.
std::vector<Cta*> group_of(Context& c, isa::CtaGroup group) {
  check_pair(c, group);
  if (group != isa::CtaGroup::two) return {c.cta};
  return {&c.cluster->ctas[c.cta->rank & ~1u], &c.cluster->ctas[c.cta->rank | 1u]};
}

// more[0]: the descriptor.
void copy_tensor(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    CopyTask t;
    t.operation = i.operation;
    t.shape = i.operation->modifiers.shape;
    t.multicast = i.operation->modifiers.cp_multicast;
    t.source = i.operation->modifiers.cp_source_format;
    t.to = u32(c.address(i, l));
    t.from = isa::unpack_shared(c.value(i, 0, l));
    t.swizzle = judge_descriptor(c, i, t.from);
    const std::vector<Cta*> group = group_of(c, i.operation->modifiers.cta_group);
    for (Cta* cta : group) check_copy(t, *cta);
    const AsyncId id = announce(c, i, l);
    if (c.grid->observer)
      for (Cta* cta : group) tell_copy(c, i, l, t, *cta, id);
    issue_tensor_op(*c.cta, {i.operation, id, c.thread(l), [group, t] {
                               for (Cta* cta : group) execute_copy(cta->cluster->grid, t, *cta);
                             }});
  }
}

void shift_tensor(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const auto address = u32(c.address(i, l));
    // The ISA moves the rows of one warp, all published code those of all four from lane 0.
    if (address >> 16) unmodelled("tcgen05.shift from lane " + std::to_string(address >> 16));
    const std::vector<Cta*> group = group_of(c, i.operation->modifiers.cta_group);
    for (Cta* cta : group) cta->tmem.check_columns(int(address & 0xFFFF), isa::mma_k_bytes / 4, "tcgen05.shift");
    const AsyncId id = announce(c, i, l);
    if (c.grid->observer)
      for (Cta* cta : group) tell_shift(c, i, l, address, *cta, id);
    issue_tensor_op(*c.cta, {i.operation, id, c.thread(l), [group, address] {
                               for (Cta* cta : group) execute_shift(address, *cta);
                             }});
  }
}

// more[0]: the CTA mask of a multicast.
void commit_tensor(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const Place p =
        locate_shared(c, Space::shared_cluster, c.address(i, l), isa::mbarrier_bytes, isa::mbarrier_bytes, l);
    const auto address = u32(p.address);
    const u32 mask = i.flags ? cta_mask(*i.operation, c.value(i, 0, l)) : 1u << p.owner->rank;
    check_cta_mask(c, mask);
    for (Cta& cta : c.cluster->ctas)
      if (mask >> cta.rank & 1) cta.mbarriers.at(address);
    const AsyncId id = ++c.grid->last_async;
    observe(c, i, 1u << l, Sync{SyncKind::tcgen05_commit, p.owner->index, address, mask, id});
    Cluster* cluster = c.cluster;
    const ir::Operation* operation = i.operation;
    issue_commit(*c.cta, c.thread(l), operation, [cluster, operation, mask, address, id] {
      for (Cta& cta : cluster->ctas)
        if (mask >> cta.rank & 1) signal_mbarrier(cta, address, 1, 0, id, operation);
    });
  }
}

}  // namespace

void bind_tmem_copy(Binder& binder, const ir::Operation&, const ops::TmemCopy& x, Inst& inst) {
  binder.address(inst, x.to);
  binder.append(inst, binder.any_width(x.from, ScalarType::b64));
  inst.run = goes_on<copy_tensor>;
}

void bind_tmem_shift(Binder& binder, const ir::Operation&, const ops::TmemShift& x, Inst& inst) {
  binder.address(inst, x.address);
  inst.run = goes_on<shift_tensor>;
}

void bind_tcgen05_commit(Binder& binder, const ir::Operation&, const ops::Commit& x, Inst& inst) {
  binder.address(inst, x.mbarrier);
  inst.flags = bool(x.ctas);
  binder.append(inst, x.ctas ? binder.any_width(x.ctas, ScalarType::u32) : binder.constant(0, 4));
  inst.run = goes_on<commit_tensor>;
}

}  // namespace kiln::sim
