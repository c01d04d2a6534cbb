#include "sim/order/detector.hpp"

#include "ptx/isa/tmem.hpp"

namespace kiln::sim {

void RaceDetector::start(Cluster& cluster, std::uint32_t launch) {
  const bool is_new_launch = launch != launch_;
  launch_ = launch;
  if (!cluster.beside)
    std::erase_if(clusters_, [&](const auto& entry) {
      if (entry.first == &cluster) return false;
      entry.second->memory.forget_all();
      return true;
    });
  std::unique_ptr<OfCluster>& own = clusters_[&cluster];
  if (!own) own = std::make_unique<OfCluster>(*this);
  now_ = own.get();
  now_->cluster = &cluster;
  records_.start(cluster.grid.last_async + 1, cluster.beside);
  now_->number = records_.cluster();
  now_->agents.start(cluster);
  reports_.start(cluster);
  now_->async.start(*cluster.grid.program.code, now_->launch != launch);
  now_->launch = launch;
  if (is_new_launch) {
    global_.start_launch(cluster.grid, records_, grids_.is_early());
    flags_.start_launch();
    grids_.start_launch();
  }
  now_->memory.start(cluster);
  now_->mbarriers.start();
  now_->barriers.start();
  now_->lifetimes.start();
  now_->last_records.assign(now_->agents.warps(), 0);
}

void RaceDetector::enter(Cluster& cluster) {
  now_ = clusters_.at(&cluster).get();
  records_.enter(now_->number);
  reports_.enter(cluster);
}

std::size_t RaceDetector::shadow_bytes() const {
  std::size_t bytes = lists_.memory();
  for (const auto& [cluster, own] : clusters_) bytes += own->memory.shadow_bytes();
  return bytes;
}

void RaceDetector::drop_unused_records() {
  for (const auto& [cluster, own] : clusters_) own->memory.forget();
  records_.drop_unused([&](auto f) {
    lists_.each_access(f);
    global_.each_access(f);
    for (const auto& [cluster, own] : clusters_) {
      own->memory.each_access(f);
      own->lifetimes.each_access(f);
      for (AccessId& of_warp : own->last_records) f(of_warp);
    }
  });
}

void RaceDetector::issue(AsyncId id, const Agent& a, const ir::Operation& op) {
  now_->memory.changed();
  records_.completion(id) = now_->async.issue(a, op);
}

void RaceDetector::execute(const Agent& a, const ir::Operation& op) {
  now_->memory.changed();
  now_->async.execute(a, op);
}

// The record of an access: that of the warp's last one where they differ in their ranges alone.
AccessId RaceDetector::record(const Agent& a, const ir::Operation& op, const Range& range, AccessKind kind, Proxy proxy,
                              AsyncId id) {
  AccessId& own = now_->last_records[now_->agents.warp(a)];
  const WarpKnowledge& w = now_->agents[a];
  const Access& last = records_[own];
  const bool strong = kind == AccessKind::atomic || is_strong(op);
  const std::uint64_t tick = kind == AccessKind::read && id == 0 ? 0 : now_->cluster->tick;
  if (last.operation != &op || last.epoch != w.epoch() || last.async != id || last.proxy != proxy ||
      last.cluster != records_.cluster() || last.is_async != (id != 0) || last.strong != strong || last.tick != tick) {
    const bool is_transfer = proxy == Proxy::tensor_memory && id == 0 &&
                             (isa::is_tensor_load(op.opcode) || op.opcode == isa::Opcode::tcgen05_st);
    if (records_.is_full()) drop_unused_records();
    own = records_.add({.operation = &op,
                        .cluster = records_.cluster(),
                        .cta = a.cta,
                        .warp = a.warp,
                        .component = w.component(0),
                        .epoch = w.epoch(),
                        .tick = tick,
                        .async = id,
                        .is_async = id != 0 || is_transfer,
                        .completion = is_transfer ? now_->async.issue_transfer(a, op)
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

bool RaceDetector::is_left_out(const Agent& a, const ir::Operation& op) const {
  const Grid& grid = now_->cluster->grid;
  return left_out_->lanes({grid.number, grid.program.code->index(op), a.cta, a.warp}) & a.lanes;
}

void RaceDetector::access(const Agent& a, const ir::Operation& op, const Range& range, AccessKind kind, Proxy proxy,
                          AsyncId id) {
  if (proxy == Proxy::tensormap) now_->memory.changed(), now_->agents.learn_map_acquires(a);
  if (id == 0) now_->async.end_issue(a);
  if (left_out_ && id == 0 && kind == AccessKind::read && is_left_out(a, op)) return;
  const AccessId access = record(a, op, range, kind, proxy, id);
  if (proxy == Proxy::generic && id == 0) {
    if (records_[access].strong) now_->memory.changed();
    flags_.access(now_->agents[a], a, records_[access], range, kind);
  }
  now_->memory.touch(a, access, range, kind);
  if (kind != AccessKind::read && isa::is_shared(range.space)) now_->mbarriers.written(a, op, range);
  if (range.space == isa::Space::global) return;
  if (range.cta != a.cta) now_->lifetimes.reach(a, op, range.cta);
  if (range.cta != a.cta || id) now_->lifetimes.use(a, range.cta, access, kind == AccessKind::read);
}

void RaceDetector::sync(const Agent& a, const ir::Operation* op, const Sync& s) {
  // Often executed, and mostly by lanes that know the same.
  if (s.kind == SyncKind::warp_wait && !now_->agents[a].wait_for_lanes(Mask(s.object))) return;
  now_->memory.changed();
  if (s.kind == SyncKind::warp_wait) return;
  if (op && s.by == 0) now_->async.end_issue(a);
  switch (s.kind) {
    case SyncKind::mbarrier_arrive:
    case SyncKind::mbarrier_complete:
      now_->mbarriers.sync(a, op, s, now_->async.payload(s.by));
      if (s.by) return now_->lifetimes.land(s.cta, s.object, s.by, records_.completion(s.by).done);
      if (s.cta != a.cta) arrive_remotely(a, *op, s.cta);
      return now_->agents[a].advance();
    case SyncKind::mbarrier_init:
    case SyncKind::mbarrier_inval:
    case SyncKind::mbarrier_expect:
    case SyncKind::mbarrier_observe:
    case SyncKind::mbarrier_phase:
    case SyncKind::mbarrier_use:
    case SyncKind::mbarrier_lapped: return now_->mbarriers.sync(a, op, s, nullptr);
    case SyncKind::barrier_arrive:
    case SyncKind::barrier_leave:
    case SyncKind::cluster_arrive:
    case SyncKind::cluster_leave: return now_->barriers.sync(a, op, s);
    case SyncKind::bulk_commit:
    case SyncKind::bulk_wait:
    case SyncKind::bulk_wait_read:
    case SyncKind::cp_async_commit:
    case SyncKind::cp_async_wait:
    case SyncKind::cp_async_arrive:
    case SyncKind::wgmma_commit:
    case SyncKind::wgmma_wait:
    case SyncKind::tcgen05_wait_ld:
    case SyncKind::tcgen05_wait_st: return now_->async.sync(a, s);
    case SyncKind::tcgen05_commit: return commit(a, *op, s);
    case SyncKind::tmem_alloc:
      if (const auto peer = now_->agents.peer(a, *op)) now_->lifetimes.allocate(a, *op, *peer);
      return;
    case SyncKind::tmem_dealloc: {
      const Range columns{isa::Space::reg, a.cta, s.object, s.value * 4, std::uint32_t(isa::tmem_lanes)};
      const AccessId id = record(a, *op, columns, AccessKind::write, Proxy::tensor_memory, 0);
      return now_->memory.dealloc(a, id, columns, now_->agents.peer(a, *op));
    }
    case SyncKind::warp_sync: return now_->agents[a].meet(Mask(s.object));  // lanes that have exited included
    case SyncKind::lanes_exit: return now_->barriers.exit(a);
    case SyncKind::cta_exit: grids_.exit(s.cta); return now_->lifetimes.exit(s.cta);
    case SyncKind::grid_wait: grids_.wait(a.cta); return now_->agents.sync(a, op, s.kind);
    case SyncKind::grid_begin: return grids_.begin(a.cta, now_->agents.know_prior_grid(a));
    default: return now_->agents.sync(a, op, s.kind);
  }
}

// An arrival uses the CTA of its mbarrier.
void RaceDetector::arrive_remotely(const Agent& a, const ir::Operation& op, std::uint32_t cta) {
  now_->lifetimes.reach(a, op, cta);
  now_->lifetimes.use(a, cta, record(a, op, {}, AccessKind::atomic, Proxy::generic, 0), false);
}

void RaceDetector::commit(const Agent& a, const ir::Operation& op, const Sync& s) {
  now_->async.sync(a, s);
  const Component tensor = now_->agents.stream(StreamKind::tensor, a);
  const Stamp work{tensor, now_->async.payload(s.by)->happened.at(tensor)};
  for (std::uint32_t rank = 0; rank < now_->agents.ctas(); ++rank) {
    if (!(s.value >> rank & 1)) continue;
    const std::uint32_t cta = now_->agents.cta(rank);
    now_->mbarriers.check_init(a, op, {s.kind, cta, s.object, 0, 0}, true);
    if (cta != a.cta) now_->lifetimes.reach(a, op, cta);
    const AccessId id = cta == a.cta ? 0 : record(a, op, {}, AccessKind::atomic, Proxy::async, s.by);
    now_->lifetimes.send(a, cta, s.object, id, s.by, work);
  }
}

}  // namespace kiln::sim
