#include "sim/core/convergence.hpp"

namespace kiln::sim {

bool converged(Context& c, Mask lanes, Mask required) {
  const Mask missing = required & c.warp->live & ~lanes;
  if (missing == 0) return true;
  c.block({.kind = WaitKind::convergence, .lanes = missing});
  return false;
}

void exit_lanes(Context& c, Mask lanes) {
  if (c.grid->observer) c.grid->observer->sync(c.agent(lanes), nullptr, {SyncKind::lanes_exit, c.cta->index, 0, 0, 0});
  c.fragment->lanes &= ~lanes;
  ++c.fragment->pc;
  c.warp->live &= ~lanes;
  c.warp->wake_all();
  // The cluster's barrier awaits the threads that are left: one that has arrived and exits counts no more.
  const Mask arrived = c.warp->lanes_of_generation(c.cluster->barrier_generation) & c.warp->cluster_arrived;
  c.cluster->barrier_arrived -= std::uint32_t(count(lanes & arrived));
  for (NamedBarrier& b : c.cta->barriers) b.leave(c.warp->index, c.warp->live);
  // Barriers of all threads do not wait for threads that have exited.
  c.cluster->changed(WaitKind::barrier);
  c.cluster->changed(WaitKind::cluster_barrier);
}

Status leave(Context& c, const Inst&, Mask lanes) {
  exit_lanes(c, lanes);
  return Status::jumped;
}

Status nothing(Context&, const Inst&, Mask) { return Status::next; }

bool whole_warp(Context& c, const Inst& i, Mask lanes) {
  if (!converged(c, lanes, all_lanes)) return false;
  observe(c, i, lanes, SyncKind::warp_wait, all_lanes);
  if (const rules::Verdict v = rules::warp_aligned(lanes); v.broken()) c.grid->report(i.operation, v);
  return true;
}

}  // namespace kiln::sim
