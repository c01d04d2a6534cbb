#include "sim/order/detector.hpp"

#include "ptx/isa/tmem.hpp"

namespace kiln::sim {

void RaceDetector::start(Cluster& cluster, std::uint32_t launch) {
  const bool is_new_launch = launch != launch_;
  cluster_ = &cluster;
  launch_ = launch;
  records_.start(cluster.grid.last_async + 1);
  agents_.start(cluster);
  reports_.start(cluster);
  async_.start(*cluster.grid.program.code, is_new_launch);
  memory_.start(cluster, is_new_launch);
  mbarriers_.start();
  barriers_.start();
  if (is_new_launch) flags_.start_launch();
  lifetimes_.start();
  last_records_.assign(agents_.warps(), 0);
}

void RaceDetector::issue(AsyncId id, const Agent& a, const ir::Operation& op) {
  memory_.changed();
  records_.completion(id) = async_.issue(a, op);
}

void RaceDetector::execute(const Agent& a, const ir::Operation& op) {
  memory_.changed();
  async_.execute(a, op);
}

// The record of an access: that of the warp's last one where they differ in their ranges alone.
AccessId RaceDetector::record(const Agent& a, const ir::Operation& op, const Range& range, AccessKind kind, Proxy proxy,
                              AsyncId id) {
  AccessId& own = last_records_[agents_.warp(a)];
  const WarpKnowledge& w = agents_[a];
  const Access& last = records_[own];
  const bool strong = kind == AccessKind::atomic || is_strong(op);
  const std::uint64_t tick = kind == AccessKind::read && id == 0 ? 0 : cluster_->tick;
  if (last.operation != &op || last.epoch != w.epoch() || last.async != id || last.proxy != proxy ||
      last.cluster != records_.cluster() || last.is_async != (id != 0) || last.strong != strong || last.tick != tick) {
    const bool is_transfer = proxy == Proxy::tensor_memory && id == 0 &&
                             (isa::is_tensor_load(op.opcode) || op.opcode == isa::Opcode::tcgen05_st);
    if (records_.is_full())
      records_.drop_unused([&](auto f) {
        memory_.each_access(f);
        lifetimes_.each_access(f);
        for (AccessId& of_warp : last_records_) f(of_warp);
      });
    own = records_.add({.operation = &op,
                        .cluster = records_.cluster(),
                        .cta = a.cta,
                        .warp = a.warp,
                        .component = w.component(0),
                        .epoch = w.epoch(),
                        .tick = tick,
                        .async = id,
                        .is_async = id != 0 || is_transfer,
                        .completion = is_transfer ? async_.issue_transfer(a, op)
                                      : id        ? records_.completion(id)
                                                  : Completion{},
                        .proxy = proxy,
                        .strong = strong,
                        .reach = order::reach_of(op.modifiers.scope)});
  }
  if (id && range.space == isa::Space::reg && kind == AccessKind::write)
    records_[own].accumulator = (range.address & 0xFFFF) << 32 | range.bytes;
  if (id && kind == AccessKind::read && isa::is_shared(range.space)) records_[own].source = range.address;
  return own;
}

void RaceDetector::access(const Agent& a, const ir::Operation& op, const Range& range, AccessKind kind, Proxy proxy,
                          AsyncId id) {
  if (proxy == Proxy::tensormap) memory_.changed(), agents_.learn_map_acquires(a);
  if (id == 0) async_.end_issue(a);
  const AccessId access = record(a, op, range, kind, proxy, id);
  if (proxy == Proxy::generic && id == 0) {
    if (records_[access].strong) memory_.changed();
    flags_.access(a, records_[access], range, kind);
  }
  memory_.touch(a, access, range, kind);
  if (kind != AccessKind::read && isa::is_shared(range.space)) mbarriers_.written(a, op, range);
  if (range.space == isa::Space::global) return;
  if (range.cta != a.cta) lifetimes_.reach(a, op, range.cta);
  if (range.cta != a.cta || id) lifetimes_.use(a, range.cta, access, kind == AccessKind::read);
}

void RaceDetector::sync(const Agent& a, const ir::Operation* op, const Sync& s) {
  memory_.changed();
  if (op && s.by == 0) async_.end_issue(a);
  switch (s.kind) {
    case SyncKind::mbarrier_arrive:
    case SyncKind::mbarrier_complete:
      mbarriers_.sync(a, op, s, async_.payload(s.by));
      if (s.by) return;
      if (s.cta != a.cta) arrive_remotely(a, *op, s.cta, Proxy::generic, 0);
      return agents_[a].advance();
    case SyncKind::mbarrier_init:
    case SyncKind::mbarrier_inval:
    case SyncKind::mbarrier_expect:
    case SyncKind::mbarrier_observe:
    case SyncKind::mbarrier_phase:
    case SyncKind::mbarrier_use:
    case SyncKind::mbarrier_lapped: return mbarriers_.sync(a, op, s, nullptr);
    case SyncKind::barrier_arrive:
    case SyncKind::barrier_leave:
    case SyncKind::cluster_arrive:
    case SyncKind::cluster_leave: return barriers_.sync(a, op, s);
    case SyncKind::bulk_commit:
    case SyncKind::bulk_wait:
    case SyncKind::bulk_wait_read:
    case SyncKind::cp_async_commit:
    case SyncKind::cp_async_wait:
    case SyncKind::cp_async_arrive:
    case SyncKind::wgmma_commit:
    case SyncKind::wgmma_wait:
    case SyncKind::tcgen05_wait_ld:
    case SyncKind::tcgen05_wait_st: return async_.sync(a, s);
    case SyncKind::tcgen05_commit: return commit(a, *op, s);
    case SyncKind::tmem_alloc:
      if (const auto peer = agents_.peer(a, *op)) lifetimes_.reach(a, *op, *peer);
      return;
    case SyncKind::tmem_dealloc: {
      const Range columns{isa::Space::reg, a.cta, s.object, s.value * 4, std::uint32_t(isa::tmem_lanes)};
      const AccessId id = record(a, *op, columns, AccessKind::write, Proxy::tensor_memory, 0);
      return memory_.dealloc(a, id, columns, agents_.peer(a, *op));
    }
    case SyncKind::cta_exit: return lifetimes_.exit(s.cta);
    default: return agents_.sync(a, op, s.kind);
  }
}

// An arrival uses the CTA of its mbarrier.
void RaceDetector::arrive_remotely(const Agent& a, const ir::Operation& op, std::uint32_t cta, Proxy proxy,
                                   AsyncId id) {
  lifetimes_.reach(a, op, cta);
  lifetimes_.use(a, cta, record(a, op, {}, AccessKind::atomic, proxy, id), false);
}

void RaceDetector::commit(const Agent& a, const ir::Operation& op, const Sync& s) {
  async_.sync(a, s);
  for (std::uint32_t rank = 0; rank < agents_.ctas(); ++rank) {
    if (!(s.value >> rank & 1)) continue;
    const std::uint32_t cta = agents_.cta(rank);
    mbarriers_.check_init(a, op, {s.kind, cta, s.object, 0, 0}, true);
    if (cta != a.cta) arrive_remotely(a, op, cta, Proxy::async, s.by);
  }
}

}  // namespace kiln::sim
