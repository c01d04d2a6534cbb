// tcgen05 as the detector sees it: what commits and waits make known, and what deallocation and exit must find done.
#include <fmt/format.h>

#include "ptx/isa/tensor_copy.hpp"
#include "ptx/rules/order.hpp"
#include "sim/core/machine.hpp"
#include "sim/order/detector.hpp"

namespace kiln::sim {

void RaceDetector::sync_tensor(const Agent& a, const ir::Operation& op, const Sync& s) {
  WarpState& w = warp(a);
  const auto done = [&](StreamKind kind, Epoch issued) {
    const Stamp stamp{streams_.of(kind, rank(cta(a.cta)), a.warp), issued};
    w.knowledge.change(a.lanes, [&](Mask, Knowledge& k) { k.seen.happened.raise(stamp); });
  };
  switch (s.kind) {
    case SyncKind::tcgen05_commit: return commit(a, op, s);
    case SyncKind::tcgen05_wait_ld: w.pending.clear(); return done(StreamKind::tensor_load, w.loads);
    case SyncKind::tcgen05_wait_st: return done(StreamKind::tensor_store, w.stores);
    case SyncKind::tcgen05_fence_before:
      w.knowledge.change(a.lanes, [&](Mask lanes, Knowledge& k) {
        k.tcgen05_fenced.join(k.seen.happened);
        for (Mask m = lanes & a.lanes; m; m &= m - 1) k.tcgen05_fenced.raise(w.knowledge.now(first_lane(m)));
      });
      return w.knowledge.advance();
    case SyncKind::tcgen05_fence_after:
      return w.knowledge.change(a.lanes, [](Mask, Knowledge& k) { k.seen.tcgen05.join(k.tcgen05_arrived); });
    case SyncKind::tmem_alloc:
      if (CtaState* other = peer(a, op)) use_remote(a, *other, op);
      return;
    case SyncKind::tmem_dealloc: return dealloc(a, op, s);
    default: return;
  }
}

// The arrival of a commit will release the completion of what its thread issued, and what was known when that was
// issued.
void RaceDetector::commit(const Agent& a, const ir::Operation& op, const Sync& s) {
  ThreadState& t = thread(a);
  const Stamp done{streams_.of(StreamKind::tensor, rank(cta(a.cta)), thread_number(a)), t.tensor};
  Message& payload = payloads_[s.by] = t.tensor_issue;
  payload.happened.raise(done);
  payload.tcgen05.join(payload.happened);  // a commit implies tcgen05.fence::before_thread_sync
  for (CtaState& c : ctas_) {
    if (!(s.value >> rank(c) & 1)) continue;
    check_init(a, op, {s.kind, c.index, s.object, 0, 0}, c.barriers[std::uint32_t(s.object)], true);
    if (c.index == a.cta) continue;
    use_remote(a, c, op);
    note_use(a, c, record(a, op, {}, AccessKind::atomic, Proxy::async, s.by), s.by, false);
  }
}

RaceDetector::CtaState* RaceDetector::peer(const Agent& a, const ir::Operation& op) {
  const std::size_t other = rank(cta(a.cta)) ^ 1;
  return op.modifiers.cta_group == isa::CtaGroup::two && other < ctas_.size() ? &ctas_[other] : nullptr;
}

// Freeing columns is a write to all of them; a pair frees those of both, each CTA at its own dealloc or the other's.
void RaceDetector::dealloc(const Agent& a, const ir::Operation& op, const Sync& s) {
  Range range{isa::Space::reg, a.cta, s.object, s.value * 4, std::uint32_t(isa::tmem_lanes)};
  const AccessId id = record(a, op, range, AccessKind::write, Proxy::tensor_memory, 0);
  touch_tensor(a, id, range, AccessKind::write);
  for (int block = 0; block < isa::tmem_lanes / tensor_block_lanes; ++block)
    cta(a.cta).tensor.forget(std::size_t(block) * isa::tmem_columns + s.object, s.value);
  CtaState* other = peer(a, op);
  // What the peer has freed before is nobody's any more.
  ++cta(a.cta).frees;
  if (!other || other->frees >= cta(a.cta).frees) return;
  range.cta = other->index;
  touch_tensor(a, id, range, AccessKind::write);
}

// At its end a CTA must know that nobody touches its memory any more.
void RaceDetector::leave(CtaState& c) {
  c.exited = true;
  Clock known;
  for (const WarpState& w : c.warps) known.join(w.knowledge.message(all_lanes).happened);
  const auto judge_use = [&](const Use& use) {
    const Stamp done = use.async ? completion(use.async).done : use.done;
    const Access& x = accesses_[use.access];
    const bool own_copy = x.cta == c.index && isa::is_bulk_copy(x.operation->opcode);
    const bool is_known = known.knows(done);
    report(own_copy ? rules::cta_exit_copy(is_known) : rules::cta_exit(is_known), {x.cta, x.warp, 1}, *x.operation,
           [&]() -> Found {
             return {fmt::format("the exit of CTA {} of the cluster, which does not know that this is done", rank(c))};
           });
  };
  for (const auto& [component, use] : c.uses.latest) judge_use(use);
  for (const Use& use : c.uses.open) judge_use(use);
}

}  // namespace kiln::sim
