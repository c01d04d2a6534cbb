// wgmma.mma_async, fence, commit_group and wait_group. PTX ISA "Asynchronous Warpgroup Level Matrix Instructions".
//
// Descriptors are judged when an operation is issued. Its reads and writes happen at a seeded later time, so an operand
// that is overwritten too early and an accumulator that is read too early show in the data.

#include <algorithm>

#include "ptx/isa/mma_metadata.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/memory.hpp"
#include "ptx/rules/order.hpp"
#include "ptx/rules/wgmma.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/ops/alu.hpp"
#include "sim/ops/matrix_form.hpp"
#include "sim/tensor/wgmma.hpp"

namespace kiln::sim {
namespace {

enum : u8 { flag_a_registers = 1 };

void start_wgmma(Cta& cta, u32 warp) {
  WgmmaQueue& q = queue_of(cta, warp);
  q.busy = true;
  Cta* self = &cta;
  cta.cluster->later(8, 120, q.waiting.front().operation, [self, warp] {
    WgmmaQueue& queue = queue_of(*self, warp);
    const WgmmaQueue::Op op = std::move(queue.waiting.front());
    queue.waiting.pop_front();
    op.action();
    ++queue.completed;
    if (self->cluster->grid.observer) self->cluster->grid.observer->complete(op.id);
    queue.busy = false;
    self->cluster->changed(WaitKind::wgmma_group);
    if (!queue.waiting.empty()) start_wgmma(*self, warp);
  });
}

WgmmaOperand operand(const Context& c, Slot s, const char* name, isa::Major major, const WarpMma& mma) {
  WgmmaOperand o;
  o.descriptor = isa::unpack_wgmma(uniform(c, s, all_lanes, "descriptor"));
  if (o.descriptor.reserved) unmodelled("a wgmma matrix descriptor with reserved bits set");
  o.swizzle = isa::wgmma_swizzle(o.descriptor.swizzle_code);
  o.major = major;
  o.bits = mma.container;
  const bool is_a = name[0] == 'A';
  o.first = is_a ? int(c.warp->index % isa::warps_per_warpgroup) * isa::wgmma_warp_rows : 0;
  o.rows = is_a ? isa::wgmma_warp_rows : mma.shape.n;
  o.k = is_a ? mma.stored_k() : mma.elements_k();
  const int span = o.swizzle == isa::Swizzle::none ? 1 << 16 : isa::span_bytes(o.swizzle);
  if (major == isa::Major::K && o.k * o.bits / 8 > span) unmodelled("rows along K that are longer than their swizzle");
  const std::size_t size = c.cta->shared.size();
  for (const u32 at : o.pieces())
    require(rules::memory_bounds(at, 16, reserved_shared_bytes, size),
            "operand {} at shared address {:#x}; the CTA's shared memory is {:#x} to {:#x}", name, at,
            reserved_shared_bytes, size);
  return o;
}

// What the race detector must know: the pieces of an operand, neighbours together.
void watch_operand(Context& c, const Inst& i, const WgmmaOperand& o, AsyncId id) {
  const std::vector<u32> pieces = o.pieces();
  for (std::size_t first = 0; first < pieces.size();) {
    std::size_t next = first + 1;
    while (next < pieces.size() && pieces[next] == pieces[next - 1] + 16) ++next;
    c.grid->observer->access(c.agent(all_lanes), *i.operation,
                             {Space::shared_cta, c.cta->index, pieces[first], u64(next - first) * 16, 1},
                             AccessKind::read, Proxy::async, id);
    first = next;
  }
}

void check_group(Context& c, const Inst& i) {
  const u32 first = c.warp->index / isa::warps_per_warpgroup * isa::warps_per_warpgroup;
  const auto warps = std::int64_t(c.cta->warps.size()) - first;
  require(rules::wgmma_warpgroup(warps), "a warpgroup of {}", warps);
  if (const rules::Verdict v = rules::wgmma_fence(queue_of(*c.cta, c.warp->index).fenced); v.broken())
    c.grid->report(i.operation, v.rule, "none before the first wgmma.mma_async of the warp");
}

std::vector<u32> registers_of(const Context& c, const Inst& i, const WarpMma& mma) {
  std::vector<u32> out;
  const int end = i.flags & flag_a_registers ? mma.operands[WarpMma::b] : mma.operands[WarpMma::a];
  for (int k = mma.operands[WarpMma::d]; k < end; ++k) out.push_back(c.slot(i, unsigned(k)).offset);
  return out;
}

WgmmaTask wgmma_task(Context& c, const Inst& i) {
  WgmmaTask t;
  t.operation = i.operation;
  t.mma = c.grid->program.mmas[i.target];
  t.slots = &c.grid->program.slots[i.more];
  t.warp = c.warp->index;
  t.a_in_registers = (i.flags & flag_a_registers) != 0;
  const auto major = [](bool transposed) { return transposed ? isa::Major::MN : isa::Major::K; };
  if (!t.a_in_registers) t.a = operand(c, c.slot(i, t.mma.operands[WarpMma::a]), "A", major(t.mma.transpose_a), t.mma);
  t.b = operand(c, c.slot(i, t.mma.operands[WarpMma::b]), "B", major(t.mma.transpose_b), t.mma);
  const Mask reads_d = c.read_mask(c.slot(i, t.mma.operands[WarpMma::end]));
  require(rules::warp_uniform(reads_d, reads_d & 1 ? all_lanes : 0), "scale-d in the lanes {:#x} alone", reads_d);
  t.mma.spec.read_c = reads_d != 0;
  return t;
}

// target: the WarpMma; more: its operands, then scale-d.
void multiply_wgmma(Context& c, const Inst& i, Mask) {
  check_group(c, i);
  const WgmmaTask t = wgmma_task(c, i);
  const AsyncId id = ++c.grid->last_async;
  if (c.grid->observer) {
    c.grid->observer->issue(id, c.agent(all_lanes), *i.operation);
    if (!t.a_in_registers) watch_operand(c, i, t.a, id);
    watch_operand(c, i, t.b, id);
  }
  WgmmaQueue& q = queue_of(*c.cta, c.warp->index);
  q.held.push_back({++q.issued, registers_of(c, i, t.mma)});
  c.warp->holds_registers = true;
  if (c.warp->index % isa::warps_per_warpgroup == 0) ++c.grid->statistics.mma_instructions;
  Cta* cta = c.cta;
  q.waiting.push_back({i.operation, id, [cta, t] { execute_wgmma(*cta, t); }});
  if (!q.busy) start_wgmma(*cta, c.warp->index);
}

void fence_wgmma(Context& c, const Inst& i, Mask lanes) {
  queue_of(*c.cta, c.warp->index).fenced = true;
  observe(c, i, lanes, SyncKind::wgmma_fence, 0, 0);
}

void commit_wgmma(Context& c, const Inst& i, Mask lanes) {
  WgmmaQueue& q = queue_of(*c.cta, c.warp->index);
  q.groups.push_back(q.issued);
  ++q.committed;
  c.cta->cluster->changed(WaitKind::wgmma_group);
  observe(c, i, lanes, SyncKind::wgmma_commit, 0, 0);
}

// Whether the warpgroup of a warp is done with as many groups. Its warps execute each operation together: CUTLASS lets
// one thread of the four warps give a stage back after its own wait.
bool are_done(Cta& cta, u32 warp, u64 groups) {
  const u32 first = warp / isa::warps_per_warpgroup * isa::warps_per_warpgroup;
  const u32 end = std::min(first + u32(isa::warps_per_warpgroup), u32(cta.warps.size()));
  for (u32 w = first; w < end; ++w) {
    const WgmmaQueue& q = queue_of(cta, w);
    const u64 before = q.committed - q.groups.size();
    if (groups <= before || cta.warps[w].done()) continue;
    if (q.committed < groups || q.completed < q.groups[groups - before - 1]) return false;
  }
  return true;
}

// value: how many of the most recent groups may still be in flight.
Status wait_for_wgmma(Context& c, const Inst& i, Mask lanes) {
  if (!whole_warp(c, i, lanes)) return Status::blocked;
  WgmmaQueue& q = queue_of(*c.cta, c.warp->index);
  const auto keep = std::size_t(i.value);
  if (q.groups.size() > keep) {
    const u64 last = q.groups[q.groups.size() - keep - 1];
    if (!are_done(*c.cta, c.warp->index, q.committed - keep))
      return c.block({.kind = WaitKind::wgmma_group, .address = keep});
    while (q.groups.size() > keep) q.groups.pop_front();
    while (!q.held.empty() && q.held.front().number <= last) q.held.pop_front();
    c.warp->holds_registers = !q.held.empty();
  }
  observe(c, i, lanes, SyncKind::wgmma_wait, 0, keep);
  return Status::next;
}

std::int64_t number(const ir::Argument& a) {
  if (a.kind != ir::Argument::Kind::immediate) throw Gap{"an operand that is not a number"};
  return a.value;
}

}  // namespace

void bind_wgmma(Binder& binder, const ir::Operation& op, const ops::Wgmma& x, Inst& inst) {
  WarpMma mma = describe_mma(op, binder.sm());
  mma.spec.unit = num::WarpUnit::wgmma;
  const bool in_registers = x.a->kind == ir::Argument::Kind::vector;
  const auto begin = [&](WarpMma::Operand o) { mma.operands[o] = inst.more_count; };
  begin(WarpMma::d);
  binder.append_all(inst, x.d, ScalarType::b32);
  begin(WarpMma::a);
  binder.append_all(inst, x.a, in_registers ? ScalarType::b32 : ScalarType::b64);
  begin(WarpMma::b);
  binder.append(inst, binder.any_width(x.b, ScalarType::b64));
  begin(WarpMma::c);
  begin(WarpMma::metadata);
  if (x.metadata) {
    binder.append(inst, binder.any_width(binder.first_of(*x.metadata), ScalarType::b32));
    mma.selector = int(number(x.selector));
    if (!isa::has_selector(mma.container, mma.stored_k(), mma.selector))
      throw Gap{"a sparsity selector that this shape does not have"};
  }
  begin(WarpMma::sfa);
  begin(WarpMma::sfb);
  begin(WarpMma::end);
  binder.append(inst, binder.predicate(x.scale_d));
  if (x.scale_a) mma.spec.negate_a = number(x.scale_a) < 0;
  if (x.scale_b) mma.spec.negate_b = number(x.scale_b) < 0;
  if (x.transpose_a) mma.transpose_a = number(x.transpose_a) != 0;
  if (x.transpose_b) mma.transpose_b = number(x.transpose_b) != 0;
  const int d = mma.shape.n / (mma.spec.d == ScalarType::f16 ? 4 : 2);
  const int a = in_registers ? isa::wgmma_warp_rows * mma.stored_k() * mma.container / 32 / warp_lanes : 1;
  if (mma.operands[WarpMma::a] != d || mma.operands[WarpMma::b] != d + a || mma.shape.m != isa::wgmma_m)
    throw Gap{"fragments of this size"};
  inst.flags = in_registers ? flag_a_registers : 0;
  inst.target = binder.add(mma);
  inst.run = warp_wide<multiply_wgmma>;
}

void bind_wgmma_order(Binder&, const ir::Operation& op, const ops::Count& n, Inst& inst) {
  if (n.count) inst.value = number(n.count);
  inst.run = op.opcode == Opcode::wgmma_fence          ? warp_wide<fence_wgmma>
             : op.opcode == Opcode::wgmma_commit_group ? warp_wide<commit_wgmma>
                                                       : wait_for_wgmma;
}

}  // namespace kiln::sim
