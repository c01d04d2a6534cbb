#include "sim/async/async.hpp"

#include "ptx/isa/mbarrier.hpp"
#include "ptx/rules/execution.hpp"
#include "sim/async/mbarrier_signal.hpp"
#include "sim/core/memory_access.hpp"

namespace kiln::sim {

Barrier barrier_at(Context& c, isa::Space space, std::uint64_t address, int lane) {
  const Place p = locate_shared(c, space, address, isa::mbarrier_bytes, isa::mbarrier_bytes, lane);
  p.owner->mbarriers.at(std::uint32_t(p.address));
  return {p.owner, std::uint32_t(p.address)};
}

void want_clusters(Context& c, const Inst& i) {
  if (const auto v = rules::cluster_launch(c.grid->in_clusters); v.broken()) c.grid->report(i.operation, v);
}

AsyncId announce(Context& c, const Inst& i, int lane) {
  const AsyncId id = ++c.grid->last_async;
  if (c.grid->observer) c.grid->observer->issue(id, c.agent(1u << lane), *i.operation);
  return id;
}

AsyncId announce(Context& c, const Inst& i, int lane, const Barrier& signals, std::uint32_t bytes) {
  signals.cta->mbarriers.issue(signals.address, bytes, c.cta->index, c.warp->index);
  const AsyncId id = announce(c, i, lane);
  if (c.grid->observer)
    c.grid->observer->sync(c.agent(1u << lane), i.operation,
                           {SyncKind::mbarrier_use, signals.cta->index, signals.address, 0, id});
  return id;
}

void touch(Context& c, const Inst& i, int lane, AsyncId id, const Range& range, AccessKind kind, Proxy proxy) {
  if (c.grid->observer) c.grid->observer->access(c.agent(1u << lane), *i.operation, range, kind, proxy, id);
}

void finish(Grid& grid, AsyncId id) {
  if (grid.observer) grid.observer->complete(id);
}

void deliver(const Barrier& b, std::uint32_t bytes, AsyncId id) { signal_mbarrier(*b.cta, b.address, 0, bytes, id); }

std::shared_ptr<BulkGroup> open_bulk_group(Context& c, int lane) {
  BulkGroups& g = c.cta->bulk[c.thread(lane)];
  if (!g.open) g.open = std::make_shared<BulkGroup>();
  ++g.open->reads_left;
  ++g.open->writes_left;
  return g.open;
}

void close_read(Cluster& cluster, BulkGroup& g) {
  --g.reads_left;
  cluster.changed(WaitKind::bulk_group);
}

void close_write(Cluster& cluster, BulkGroup& g) {
  --g.writes_left;
  cluster.changed(WaitKind::bulk_group);
}

}  // namespace kiln::sim
